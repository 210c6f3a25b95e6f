"""A test that calls megascope import and what follows, in a directory of its own. The program is the first argument."""

import gzip
import json
import os
import resource
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402

MEGASCOPE = sys.argv[1]
MOST_BYTES = 2 << 30


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


class Case(in_directory.InDirectory):
    def call(self, *words, code=0, timeout=120):
        result = self.finished(MEGASCOPE, *words, before=limit_memory if words[0] == "import" else None, limit_s=timeout)
        self.assertIn(result.returncode, code if isinstance(code, tuple) else (code,), result.stdout + result.stderr)
        return result

    def write(self, name, content):
        path = self.path(name)
        with (gzip.open if name.endswith(".gz") else open)(path, "wt") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def analyze(self, code):
        return json.loads(self.call("analyze", self.run_directory, "--json", code=code).stdout)
