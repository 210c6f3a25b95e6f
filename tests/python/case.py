"""What the tests of the Python package share: scripts that are run with and without the library, and what the project's readers find."""

import gzip
import json
import os
import sys
import textwrap

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(SOURCE, "tests", "tools"))
import recorded_case  # noqa: E402
import reported_skips  # noqa: E402

MEGASCOPE, *MPIRUN = sys.argv[1:]
PACKAGES = os.path.join(SOURCE, "python")
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")
PYTHON = sys.executable


class Case(recorded_case.Case):
    megascope, mpirun = MEGASCOPE, MPIRUN
    limit_s = 250

    def environment(self, **more):
        clean = {name: value for name, value in super().environment().items() if not name.startswith("PYTHON")}
        return {**clean, "PYTHONPATH": PACKAGES, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error",
                **{name: str(value) for name, value in more.items()}}

    def bare(self, script, **more):
        """What the script prints where the library is not loaded."""
        return self.call(PYTHON, "-c", textwrap.dedent(script), **more)

    def record(self, script, code=0, **more):
        """The same where it is."""
        return self.call(PYTHON, "-c", textwrap.dedent(script), code=code, **self.settings(**more))

    def counts(self, report=None):
        return super().counts(report or self.report())

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
    reported_skips.main()
