"""What the tests of this directory share: a program under the library, other users, the command.

  <test>.py MEGASCOPE PROGRAM CC MPIRUN...
"""

import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import in_directory  # noqa: E402
import launch  # noqa: E402
import reported_skips  # noqa: F401 (for those that import this)

MEGASCOPE, PROGRAM, CC, *MPIRUN = sys.argv[1:]
LIB = pathlib.Path(MEGASCOPE).parent.parent / "lib"
LIBRARY = LIB / "libmegascope.so"
# Formats of the build, and the files that each makes.
FILES = {"otf2": ("trace", "trace.def", "trace.otf2"), "perfetto": ("trace.perfetto-trace",), "chrome": ("trace.json.gz",)}
FORMATS = [name for name in FILES if (LIB / f"libmegascope_{name}.so").exists()]
HAS_LIVE = (LIB / "libmegascope_live.so").exists()


class Case(in_directory.InDirectory):
    def setUp(self):
        super().setUp()
        self.scratch = pathlib.Path(self.make_directory("scratch"))
        self.directory, self.run_directory = pathlib.Path(self.directory), pathlib.Path(self.run_directory)

    def environment(self, **variables):
        return super().environment(**self.settings(**variables))

    def settings(self, **variables):
        return {"LD_PRELOAD": str(LIBRARY), "MEGASCOPE_SCRATCH": str(self.scratch), "MEGASCOPE_OUT": str(self.run_directory), "MEGASCOPE_EXPORT": "none",
                **{name: str(value) for name, value in variables.items()}}

    def call(self, *arguments, **variables):
        """One process, to its end."""
        return self.finished(PROGRAM, *arguments, **variables)

    def call_ranks(self, count, *arguments, **variables):
        words = launch.setting(MPIRUN, **self.settings(**variables))
        return subprocess.run([*MPIRUN, *words, "-n", str(count), PROGRAM, *arguments], cwd=self.directory, capture_output=True, text=True, timeout=100, check=False)

    def command(self, *words, prefix=(), **options):
        return subprocess.run([*prefix, MEGASCOPE, *map(str, words)], capture_output=True, text=True, timeout=100, check=False, **options)
