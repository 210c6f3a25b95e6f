"""Native traces as a reader sees them that was written from docs/trace_format.md alone (tests/tools/native_trace.py).

  native_trace_test.py MEGASCOPE PROGRAM MPIRUN...
"""

import collections
import json
import os
import shutil
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402
import launch  # noqa: E402
import native_trace  # noqa: E402

MEGASCOPE, PROGRAM = map(os.path.realpath, sys.argv[1:3])
MPIRUN = sys.argv[3:]
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")
RANKS = 2
NORMAL_END = 1


class Case(in_directory.InDirectory):
    def record(self):
        settings = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_OUT": self.run_directory, "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off",
                    "MEGASCOPE_SCRATCH": self.make_directory("scratch")}
        done = self.finished(*MPIRUN, *launch.setting(MPIRUN, **settings), "-n", RANKS, PROGRAM, "long")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(self.run_directory, "report.json"), encoding="utf-8") as file:
            return json.load(file)

    def trace(self, rank, directory=None):
        return native_trace.Trace(os.path.join(directory or self.run_directory, f"rank-{rank}.mgt"))

    def packed(self, trace):
        return [chunk for chunk in trace.call_chunks if chunk.packed]

    def expect_complete(self, trace, calls):
        """Of a rank that made so many calls."""
        header = trace.header
        self.assertEqual((header.version, header.size, header.end_state, sum(header.losses)), (2, RANKS, NORMAL_END, 0))
        self.assertEqual((trace.damage, [chunk.sequence for chunk in trace.call_chunks]), ([], list(range(len(trace.call_chunks)))))
        self.assertNotEqual(self.packed(trace), [])
        self.assertEqual(sum(trace.counts().values()), calls)
        for chunk in self.packed(trace):
            self.assertEqual(sum(call.repeated for call in native_trace.calls_of([chunk])), chunk.calls, chunk.offset)

    def expect_in_order(self, trace):
        """Calls of a thread follow one another, and all have their names."""
        end = 0
        for call in trace.calls(0):
            self.assertIn(call.region, trace.regions)
            self.assertGreaterEqual(call.entry, end)
            end = call.entry + call.duration


class Counts(Case):
    def test_are_those_of_the_report(self):
        report, counts = self.record(), collections.Counter()
        self.assertEqual([row["rank"] for row in report["per_rank"]], list(range(RANKS)))
        for row in report["per_rank"]:
            trace = self.trace(row["rank"])
            self.assertEqual(trace.header.rank, row["rank"])
            self.expect_complete(trace, row["calls"])
            self.expect_in_order(trace)
            counts += trace.counts()
        self.assertEqual(counts, {name: function["calls"] for name, function in report["functions"].items()})


class Damage(Case):
    """One byte of a packed chunk differs: that chunk is damaged, and no other."""

    def changed(self, place):
        """A copy of the run with another byte there in the trace of rank 0."""
        directory = self.path(f"changed-{place}")
        shutil.copytree(self.run_directory, directory)
        with open(os.path.join(directory, "rank-0.mgt"), "r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 4]))
        return directory

    def test_is_found_by_the_checksum(self):
        self.record()
        whole = self.trace(0)
        chunk = self.packed(whole)[len(self.packed(whole)) // 2]
        for offset in (72, native_trace.CHUNK_HEADER + 1000):  # the number of the chunk; what is packed
            with self.subTest(offset=offset):
                directory = self.changed(chunk.offset + offset)
                trace = self.trace(0, directory)
                self.assertEqual(trace.damage, [(chunk.offset, chunk.size)])
                self.assertEqual([other.offset for other in trace.chunks], [other.offset for other in whole.chunks if other is not chunk])
                self.assertEqual(sum(trace.counts().values()), sum(whole.counts().values()) - chunk.calls)
                report = json.loads(self.finished(MEGASCOPE, "report", directory, "--json").stdout)
                self.assertEqual(report["losses"]["damaged"], 1)


class Info(Case):
    def test_tells_what_a_file_is(self):
        self.record()
        path = os.path.join(self.run_directory, "rank-1.mgt")
        told = self.finished(MEGASCOPE, "info", path)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("MegaScope trace, format version 2\nrank 1 of 2, ended normally", told.stdout)
        told = json.loads(self.finished(MEGASCOPE, "info", path, "--json").stdout)
        self.assertEqual((told["format_version"], told["rank"], told["damaged"]), (2, 1, 0))
        self.assertEqual(told["packed_chunks"], sum(1 for chunk in self.trace(1).chunks if chunk.packed))

    def test_refuses_what_is_no_trace(self):
        self.record()
        told = self.finished(MEGASCOPE, "info", os.path.join(self.run_directory, "report.json"))
        self.assertEqual((told.returncode, told.stdout), (2, ""))
        self.assertRegex(told.stderr, "^megascope: .*report.json is (not|too short to be) a MegaScope trace\n$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
