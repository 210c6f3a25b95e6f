"""What the tests of an installation share: a tree that was installed in one directory and moved to another."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402
import launch  # noqa: E402

BUILD = os.environ["MEGASCOPE_TEST_BUILD"]
RING = os.environ["MEGASCOPE_TEST_RING"]
MPICC = os.environ["MEGASCOPE_TEST_MPICC"]
MPIRUN = os.environ["MEGASCOPE_TEST_MPIRUN"].split()
LAPS = 20
CALLS = LAPS + 4  # Init, Comm_rank, Comm_size, MPI_Allreduce; see ring.c


def install(prefix, **environment):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, **environment})


def files(prefix):
    """Paths of all files and links below a directory, relative to it."""
    return sorted(os.path.relpath(os.path.join(directory, name), prefix)
                  for directory, _, names in os.walk(prefix) for name in names)


def clean_environment(**variables):
    kept = {name: value for name, value in launch.clean_environment().items() if not name.startswith("PKG_CONFIG_")}
    return {**kept, "MEGASCOPE_REPORT": "off", "MEGASCOPE_EXPORT": "none", **variables}


class Tree:
    """An installation that no longer lies where it was installed."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="install_test.")
        self.first = f"{self.directory}/first"
        self.prefix = f"{self.directory}/moved/megascope"
        install(self.first)
        os.makedirs(os.path.dirname(self.prefix))
        os.rename(self.first, self.prefix)
        (self.library,) = (glob.glob(f"{self.prefix}/lib*/libmegascope.so") + glob.glob(f"{self.prefix}/lib/*/libmegascope.so"))
        self.libdir = os.path.dirname(self.library)
        self.bindir = f"{self.prefix}/bin"

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)


class Case(in_directory.InDirectory):
    """A test with a directory of its own; the tree is the module's."""

    tree: Tree

    @classmethod
    def setUpClass(cls):
        cls.tree = Tree()
        cls.addClassCleanup(cls.tree.close)

    def setUp(self):
        self.parent = self.tree.directory
        super().setUp()

    def environment(self, **variables):
        return clean_environment(**variables)

    def call(self, *words, **variables):
        """Standard output of a command that must succeed, in the test's directory."""
        result = self.finished(*words, **variables)
        self.assertEqual(result.returncode, 0, f"{words}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def compile_ring(self):
        self.call(MPICC, "-o", "ring", RING)

    def check_recorded(self, report):
        """The report in JSON of two ranks of ring."""
        ranks = json.loads(report)["per_rank"]
        self.assertEqual([rank["calls"] for rank in ranks], [CALLS + 1] * 2)  # and Finalize
