"""What suites share that run a program with the library and look at what was recorded: in_directory.py, and readers."""

import gzip
import json
import os
import shutil
import subprocess

import in_directory
import launch

TOOLS = os.path.dirname(os.path.abspath(__file__))


class Case(in_directory.InDirectory):
    """A suite's own class says the three paths."""

    decoding = "replace"
    megascope = None  # build/<preset>/bin/megascope
    mpirun = None     # the launcher and its options, before -n
    processor = ""    # directory of Perfetto's trace processor; empty: query() skips

    def setUp(self):
        super().setUp()
        self.library = os.path.join(os.path.dirname(os.path.dirname(self.megascope)), "lib", "libmegascope.so")

    def call(self, *command, code=0, **more):
        """What a command prints that ends with that code, or one of them; None: with any."""
        done = self.finished(*command, **more)
        self.said, self.code = done.stderr, done.returncode
        if code is not None:
            self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def settings(self, **more):
        """Variables of a program that is recorded."""
        return {"LD_PRELOAD": self.library, "MEGASCOPE_OUT": self.run_directory, "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off", **more}

    def record_ranks(self, ranks, *command, code=0, **more):
        return self.call(*self.mpirun, *launch.setting(self.mpirun, **self.settings(**more)), "-n", ranks, *command, code=code)

    def report(self, directory=None, **more):
        return json.loads(self.call(self.megascope, "report", directory or self.run_directory, "--json", **more))

    def stored_report(self):
        with open(os.path.join(self.run_directory, "report.json"), encoding="utf-8") as file:
            return json.load(file)

    def counts(self, report):
        return {name: row["count"] for name, row in report["regions"].items()}

    def analyzed(self, directory=None):
        return json.loads(self.call(self.megascope, "analyze", directory or self.run_directory, "--json", code=(0, 1)))  # 1: somebody is slow

    def events(self):
        """Of the Chrome trace, which is made where there is none."""
        names = [name for name in os.listdir(self.run_directory) if name.startswith("trace.json")]
        if not names:
            self.call(self.megascope, "export", self.run_directory, "--format", "chrome", "--no-findings")
            names = [name for name in os.listdir(self.run_directory) if name.startswith("trace.json")]
        opened = gzip.open if names[0].endswith(".gz") else open
        with opened(os.path.join(self.run_directory, names[0]), "rt", encoding="utf-8", errors="replace") as file:
            events = json.load(file)
        return events["traceEvents"] if isinstance(events, dict) else events

    def judge_otf2(self):
        judged = subprocess.run(["/usr/bin/python3", os.path.join(TOOLS, "check_otf2.py"), os.path.join(self.run_directory, "trace.otf2")],
                                capture_output=True, text=True, check=False)
        self.assertEqual(judged.returncode, 0, judged.stdout[-3000:] + judged.stderr[-3000:])
        return json.loads(judged.stdout)

    def query(self, sql):
        """Rows that Perfetto's own reader finds."""
        if not os.path.exists(os.path.join(self.processor, "trace_processor.wasm")) or not shutil.which("node"):
            self.skipTest("there is no trace processor: tests/tools/trace_processor/fetch.sh")
        trace = os.path.join(self.run_directory, "trace.perfetto-trace")
        result = subprocess.run(["node", os.path.join(TOOLS, "trace_processor", "query.mjs"), trace, sql], capture_output=True, text=True,
                                check=False, env={**os.environ, "TRACE_PROCESSOR": self.processor})
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)
