"""What the tests of this directory share: a program under the library, other users, the command.

  <test>.py MEGASCOPE PROGRAM CC MPIRUN...
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import launch  # noqa: E402
import told_skips  # noqa: F401 (for those that import this)

MEGASCOPE, PROGRAM, CC, *MPIRUN = sys.argv[1:]
LIB = pathlib.Path(MEGASCOPE).parent.parent / "lib"
LIBRARY = LIB / "libmegascope.so"
# Formats of the build, and the files that each makes.
FILES = {"otf2": ("trace", "trace.def", "trace.otf2"), "perfetto": ("trace.perfetto-trace",), "chrome": ("trace.json.gz",)}
FORMATS = [name for name in FILES if (LIB / f"libmegascope_{name}.so").exists()]
HAS_LIVE = (LIB / "libmegascope_live.so").exists()


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="outputs_test."))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.scratch = self.directory / "scratch"
        self.scratch.mkdir()
        self.run_directory = self.directory / "run"

    def environment(self, **variables):
        kept = launch.clean_environment()
        return {**kept, **self.settings(**variables)}

    def settings(self, **variables):
        return {"LD_PRELOAD": str(LIBRARY), "MEGASCOPE_SCRATCH": str(self.scratch), "MEGASCOPE_OUT": str(self.run_directory), "MEGASCOPE_EXPORT": "none",
                **{name: str(value) for name, value in variables.items()}}

    def call(self, *arguments, **variables):
        """One process, to its end."""
        return subprocess.run([PROGRAM, *arguments], cwd=self.directory, env=self.environment(**variables), capture_output=True, text=True, timeout=100,
                              check=False)

    def call_ranks(self, count, *arguments, **variables):
        words = launch.setting(MPIRUN, **self.settings(**variables))
        return subprocess.run([*MPIRUN, *words, "-n", str(count), PROGRAM, *arguments], cwd=self.directory, capture_output=True, text=True, timeout=100, check=False)

    def command(self, *words, prefix=(), **options):
        return subprocess.run([*prefix, MEGASCOPE, *map(str, words)], capture_output=True, text=True, timeout=100, check=False, **options)
