"""Jobs over several hosts without a batch system: run directories, hosts, clocks, and fragments that are joined afterwards.

  hosts_test.py LIBRARY MEGASCOPE RING PINGPONG MPIRUN...

A host is a network namespace with an address, a host name that nothing resolves, a CLOCK_MONOTONIC and, where a test asks for
it, a directory of its own. Without the right to make them the test is skipped (77).
"""

import glob
import gzip
import json
import os
import sys
import unittest

import hosts
import in_directory
import relay
from hosts import LIMIT_S, NAMES

LIBRARY, MEGASCOPE, RING, PINGPONG, *MPIRUN = sys.argv[1:]
SKIPPED = 77
LAPS = 20
PATIENCE_S = 5  # half of what a rank waits for rank 0's verdict before it judges itself
SLOW_NETWORK = "10.99.72"
THERE_US, BACK_US = 4000, 1000
CLOCK_US = 10  # how far one clock may seem to be from itself
TRIPS = 60
CLEAR_US = 100  # what makes two directions differ
LATE_US = 2000  # how late even the quickest message may be on a busy machine
FAKE_TIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


class Case(in_directory.InDirectory):
    machines = hosts.Hosts()
    parent = "/tmp"

    def setUp(self):
        super().setUp()
        self.job = hosts.Job(self.machines, self.directory, MPIRUN)

    def run_ring(self, ranks=4, preload=LIBRARY, network=hosts.NETWORK, **variables):
        settings = {"LD_PRELOAD": preload, "MEGASCOPE_EXPORT": "none", **variables}
        result = self.job.start(ranks, [RING, str(LAPS)], settings, network)
        self.assertEqual((result.returncode, result.stdout), (0, f"{ranks} ranks, sum {ranks * (ranks - 1) // 2}\n"), result.stderr)
        return result.stderr

    def command(self, *words, expected=0):
        result = hosts.call(MEGASCOPE, *words, cwd=self.directory)
        self.assertEqual(result.returncode, expected, result.stderr)
        return result.stdout

    def check(self, directory, ranks=4):
        report = json.loads(self.command("report", "--json", directory))
        self.assertEqual(report["missing_ranks"], [])
        self.assertEqual(report["nodes"], list(NAMES))
        self.assertEqual([row["host"] for row in report["per_rank"]], [NAMES[rank % 2] for rank in range(ranks)])
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], ranks * LAPS)
        self.assertEqual(report["matrix"]["messages"], ranks * LAPS)
        self.assertEqual(sum(report["losses"].values()), 0)
        self.assertLess(report["wall_s"], LIMIT_S, "hosts' clocks with origins hours apart are one time")
        self.assertLess(report["overhead_s"], PATIENCE_S, "whether all ranks have the library is found out at once")
        return report

    def spans(self, directory, function):
        """Rank -> [(begin, end)] of its calls of a function, in the run's time, µs."""
        self.command("export", directory, "-f", "chrome", "-o", function)
        with gzip.open(f"{self.directory}/{function}/trace.json.gz", "rt", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        found = {}
        for event in events:
            if event.get("name") == function and "dur" in event:
                found.setdefault(event["pid"], []).append((event["ts"], event["ts"] + event["dur"]))
        return {rank: sorted(spans) for rank, spans in found.items()}

    def check_times(self, directory):
        """MPI_Allreduce ends a run of all ranks: no rank leaves it before all have entered, for any start of their clocks."""
        spans = [span for of_rank in self.spans(directory, "MPI_Allreduce").values() for span in of_rank]
        self.assertGreaterEqual(len(spans), 4)
        self.assertLess(max(begin for begin, _ in spans) - min(end for _, end in spans), 1e3, "µs")


class SharedDirectory(Case):
    def test_is_one_run_on_two_hosts(self):
        text = self.run_ring(MEGASCOPE_OUT=f"{self.directory}/run")
        self.assertIn(f"4 ranks, writes to {self.directory}/run", text)
        self.check(f"{self.directory}/run")
        self.check_times("run")

    def test_with_clocks_that_began_hours_apart(self):
        self.run_ring(MEGASCOPE_OUT=f"{self.directory}/run", MEGASCOPE_CLOCK="monotonic")
        self.check(f"{self.directory}/run")
        self.check_times("run")

    def test_with_system_clocks_far_apart(self):
        """1000 s apart: clocks are compared by messages, nothing depends on how they are set."""
        if not os.path.exists(FAKE_TIME):
            print("hosts: Skipped\nno libfaketime\n[  SKIPPED ] SharedDirectory.test_with_system_clocks_far_apart (0 ms)")  # for run_ctest.py
            return
        self.run_ring(preload=f"{FAKE_TIME}:{LIBRARY}", MEGASCOPE_OUT=f"{self.directory}/run", MEGASCOPE_CLOCK="monotonic",
                      MEGASCOPE_EXPORT="otf2,perfetto,chrome")
        self.check(f"{self.directory}/run")
        for name in ("trace.otf2", "trace.perfetto-trace", "trace.json.gz"):
            self.assertGreater(os.path.getsize(f"{self.directory}/run/{name}"), 0)
        self.check_times("run")


class OwnDirectories(Case):
    def test_fragments_of_hosts_make_one_run(self):
        here = f"{self.directory}/local"
        text = self.run_ring(MEGASCOPE_OUT=f"{here}/run", MEGASCOPE_SCRATCH=here, MEGASCOPE_CLOCK="monotonic")
        self.assertIn("the run directory is not visible on right: its traces stay there, in", " ".join(text.split()))
        first = f"{self.directory}/left/run"
        self.assertEqual(json.loads(self.command("report", "--json", first))["missing_ranks"], [1, 3])
        (second,) = glob.glob(f"{self.directory}/right/megascope-*/*")
        said = self.command("join", first, second, "--out", "all")
        self.assertTrue(said.startswith("4 of 4 ranks in all"), said)
        self.check("all")
        self.check_times("all")


class SlowWire(Case):
    """MPI's messages go through a wire that takes longer one way than the other."""

    def setUp(self):
        super().setUp()
        if reason := relay.reason_why_not():
            self.skip(reason)

    def skip(self, reason):
        print(f"hosts: Skipped\n{reason}\n[  SKIPPED ] SlowWire.{self._testMethodName} (0 ms)")  # for run_ctest.py
        self.skipTest(reason)

    def wire(self, there_s, back_s, **figures):
        return relay.Relay(self.machines.namespaces, [f"{SLOW_NETWORK}.{number}/24" for number in (1, 2)], (there_s, back_s), **figures)

    def messages(self, clock):
        """Records a ping-pong; its report, and µs from a send's beginning to its receive's end: of rank 0's messages, of rank 1's."""
        with self.wire(THERE_US * 1e-6, BACK_US * 1e-6):
            settings = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_EXPORT": "none", "MEGASCOPE_CLOCK": clock, "MEGASCOPE_OUT": f"{self.directory}/run"}
            result = self.job.start(2, [PINGPONG, str(TRIPS)], settings, SLOW_NETWORK)
        self.assertEqual((result.returncode, result.stdout), (0, "2 ranks\n"), result.stderr)
        report = json.loads(self.command("report", "--json", "run"))
        self.assertEqual((report["missing_ranks"], report["nodes"]), ([], list(NAMES)))
        self.assertEqual([row["host"] for row in report["per_rank"]], list(NAMES))
        sends, receives = self.spans("run", "MPI_Send"), self.spans("run", "MPI_Recv")
        trips_us = []
        for sender in (0, 1):
            self.assertEqual((len(sends[sender]), len(receives[1 - sender])), (TRIPS, TRIPS))
            trips_us.append([end - begin for (begin, _), (_, end) in zip(sends[sender], receives[1 - sender])])
        return report, trips_us

    def test_messages_take_as_long_as_it_does(self):
        """Two hosts on one machine have one TSC, as is found out when they are compared: nothing is corrected."""
        report, (there_us, back_us) = self.messages("auto")
        if report["clock"]["domains"] != 1:
            self.skip("the TSC is not used here")
        for trips_us, expected_us in ((there_us, THERE_US), (back_us, BACK_US)):
            self.assertGreater(min(trips_us), expected_us - CLOCK_US)
            self.assertLess(min(trips_us), expected_us + LATE_US)

    def test_clocks_that_differ_are_compared_by_round_trips(self):
        """Both ways seem to take half of the round trip: nothing tells which is the slower one. The bound that is told covers it."""
        report, trips_us = self.messages("monotonic")
        for one_way_us in trips_us:
            self.assertGreater(min(one_way_us), BACK_US + CLEAR_US)
            self.assertLess(min(one_way_us), THERE_US - CLEAR_US)
        self.assertEqual((report["clock"]["domains"], report["clock"]["unmeasured"]), (2, 0))
        self.assertGreaterEqual(report["clock"]["error_ns"], (THERE_US + BACK_US) / 2 * 1e3)

    def test_is_one_run_over_a_slow_link(self):
        with self.wire(0.0004, 0.0001, jitter_s=0.0001, factor=5):
            self.run_ring(MEGASCOPE_OUT=f"{self.directory}/run", MEGASCOPE_CLOCK="monotonic", network=SLOW_NETWORK)
        report = self.check(f"{self.directory}/run")
        self.check_times("run")
        self.assertGreater(report["functions"]["MPI_Sendrecv"]["time_s"], LAPS * 0.002, "two of four ranks wait for the slower direction")


def main():
    reason = Case.machines.make()
    try:
        if reason:
            print(f"SKIPPED: {reason}")
            return SKIPPED
        program = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2)
        return 0 if program.result.wasSuccessful() else 1
    finally:
        Case.machines.remove()


if __name__ == "__main__":
    sys.exit(main())
