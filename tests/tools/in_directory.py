"""A test case with a temporary directory and a clean environment: the base of the suites' own cases, where no run is recorded or a suite
records in its own way. Else: recorded_case.py."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import launch


class InDirectory(unittest.TestCase):
    maxDiff = None
    parent = None        # directory of the temporary directories; None: the system's
    limit_s = 100        # for a command
    decoding = "strict"  # of output that is no UTF-8

    def setUp(self):
        suite = os.path.splitext(os.path.basename(sys.argv[0]))[0]
        self.directory = tempfile.mkdtemp(prefix=f"{suite}.", dir=self.parent)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.run_directory = self.path("run")

    def path(self, name):
        return os.path.join(self.directory, name)

    def make_directory(self, name):
        os.mkdir(self.path(name))
        return self.path(name)

    def environment(self, **more):
        """Without what a launcher or a user of this process has set."""
        return launch.clean_environment(**more)

    def finished(self, *command, before=None, limit_s=None, **more):
        """The result of a command that runs in the directory, in the environment with more variables. before: called in the new process."""
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=self.directory, check=False, errors=self.decoding,
                              timeout=limit_s or self.limit_s, env=self.environment(**more), preexec_fn=before)
