"""A test that calls megascope import and what follows, in a directory of its own. The program is the first argument."""

import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

MEGASCOPE = sys.argv[1]
MOST_BYTES = 2 << 30


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="import_test.")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.run_directory = os.path.join(self.directory, "run")

    def call(self, *words, code=0, timeout=120):
        result = subprocess.run([MEGASCOPE, *words], cwd=self.directory, capture_output=True, text=True, timeout=timeout,
                                preexec_fn=limit_memory if words[0] == "import" else None)
        self.assertIn(result.returncode, code if isinstance(code, tuple) else (code,), result.stdout + result.stderr)
        return result

    def write(self, name, content):
        path = os.path.join(self.directory, name)
        with (gzip.open if name.endswith(".gz") else open)(path, "wt") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def analyze(self, code):
        return json.loads(self.call("analyze", self.run_directory, "--json", code=code).stdout)
