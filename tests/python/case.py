"""What the tests of the Python package share: scripts that are run with and without the library, and what the project's readers find."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(SOURCE, "tests", "tools"))
import launch  # noqa: E402
import told_skips  # noqa: E402

MEGASCOPE, *MPIRUN = sys.argv[1:]
PACKAGES = os.path.join(SOURCE, "python")
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")
PYTHON = sys.executable


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="python_test.")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.run_directory = os.path.join(self.directory, "run")

    def environment(self, **more):
        clean = {name: value for name, value in launch.clean_environment().items() if not name.startswith("PYTHON")}
        return {**clean, "PYTHONPATH": PACKAGES, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error",
                **{name: str(value) for name, value in more.items()}}

    def call(self, *command, code=0, **more):
        """What a command prints that ends with that code, or one of them."""
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.directory, check=False, errors="replace", timeout=250,
                              env=self.environment(**more))
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), f"{command}\n{done.stdout}{done.stderr}")
        self.said = done.stderr
        return done.stdout

    def settings(self, **more):
        return {"LD_PRELOAD": LIBRARY, "MEGASCOPE_OUT": self.run_directory, "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off", **more}

    def bare(self, script, **more):
        """What the script prints where the library is not loaded."""
        return self.call(PYTHON, "-c", textwrap.dedent(script), **more)

    def record(self, script, code=0, **more):
        """The same where it is."""
        return self.call(PYTHON, "-c", textwrap.dedent(script), code=code, **self.settings(**more))

    def report(self, directory=None):
        return json.loads(self.call(MEGASCOPE, "report", directory or self.run_directory, "--json"))

    def analyzed(self, directory=None):
        return json.loads(self.call(MEGASCOPE, "analyze", directory or self.run_directory, "--json", code=(0, 1)))  # 1: somebody is slow

    def counts(self, report=None):
        return {name: row["count"] for name, row in (report or self.report())["regions"].items()}

    def losses(self):
        return {cause: count for cause, count in self.report()["losses"].items() if count}

    def events(self, rank=0, directory=None):
        """Of the Chrome trace that `megascope export` makes."""
        directory = directory or self.run_directory
        path = os.path.join(directory, "trace.json.gz")
        if not os.path.exists(path):
            self.call(MEGASCOPE, "export", directory, "--format", "chrome", "--no-findings")
        with gzip.open(path, "rt", encoding="utf-8") as file:
            events = json.load(file)
        events = events["traceEvents"] if isinstance(events, dict) else events
        return [event for event in events if event["pid"] == rank]

    def nested(self, rank=0, directory=None):
        """Each region of the rank with those around it, outermost first, in order of entry: "step/forward/h.0"."""
        paths, around = [], []
        slices = [event for event in self.events(rank, directory) if event["ph"] == "X" and "ts" in event]
        for event in sorted(slices, key=lambda event: (event["ts"], -event["dur"])):
            while around and event["ts"] >= around[-1][1] - 1e-6:
                around.pop()
            around.append((event["name"], event["ts"] + event["dur"]))
            paths.append("/".join(name for name, _ in around))
        return paths

    def statistics(self, name):
        """The last values of a tensor's counters: count, nan, infinite, min, max, mean, norm."""
        prefix = name + "/"
        return {event["name"][len(prefix):]: event["args"]["value"] for event in self.events()
                if event["ph"] == "C" and event["name"].startswith(prefix)}


def main():
    told_skips.main()
