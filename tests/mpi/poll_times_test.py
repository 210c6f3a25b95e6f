"""Long series of unsuccessful tests, whose entries are not timed: the test that ends one lies where the program saw it, or is recorded with
an interval that contains its entry; the numbers of calls are exact.

  poll_times_test.py PROGRAM LIBRARY TOOLS MPIRUN...
"""

import collections
import glob
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LIBRARY, TOOLS, *MPIRUN = sys.argv[1:]
sys.path.insert(0, TOOLS)
import launch  # noqa: E402
import native_trace  # noqa: E402

LONG_NS = 40_000_000
LATE_NS = 10_000_000  # the program was interrupted after it read the time
US = 1000
Found = collections.namedtuple("Found", "polls before_ns after_ns series call")


class PollTimes(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="poll_times_test.")
        self.addCleanup(holder.cleanup)
        self.directory = holder.name

    def play(self, *arguments, code=0):
        """The times that the program printed, and its trace."""
        environment = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_OUT": f"{self.directory}/run", "MEGASCOPE_SCRATCH": self.directory,
                       "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off", "MEGASCOPE_CLOCK": "monotonic",
                       "OMPI_MCA_mpi_yield_when_idle": "0"}  # a poll that yields takes longer than its time of a microsecond
        done = subprocess.run([*MPIRUN, *launch.setting(MPIRUN, **environment), "-n", "1", PROGRAM, *arguments], capture_output=True, text=True,
                              timeout=100, check=False)
        self.assertEqual(done.returncode == 0, code == 0, done.stdout + done.stderr)
        traces = glob.glob(f"{self.directory}/**/rank-0.mgt", recursive=True)
        self.assertEqual(len(traces), 1, traces)
        times = [list(map(int, line.split())) for line in done.stdout.splitlines() if line[:1].isdigit()]
        return times, native_trace.Trace(traces[0])

    def found(self, *arguments):
        """Each request's last test, with the record of its series before it."""
        times, trace = self.play(*arguments)
        requests = []
        for call in trace.calls(trace.locations()[0]):
            name = trace.name(call.region)
            if name == "MPI_Grequest_start":
                requests.append([])
            elif name == "MPI_Test" and requests:
                requests[-1].append(call)
        self.assertEqual(len(requests), len(times))
        for (_, polls, _, _), calls in zip(times, requests):
            self.assertEqual(sum(call.repeated for call in calls), polls, "every call is counted")
            self.assertEqual(calls[-1].repeated, 1)
        return [Found(polls, before_ns, after_ns, calls[-2], calls[-1]) for (_, polls, before_ns, after_ns), calls in zip(times, requests)]

    def check(self, found):
        """What holds for each last test. Times that the program read lie around what the library read."""
        call, series = found.call, found.series
        self.assertLessEqual(call.entry, found.before_ns + LATE_NS, "a call is not recorded as later than it was")
        self.assertLessEqual(call.entry + call.duration, found.after_ns)
        self.assertGreaterEqual(call.entry + call.duration, found.before_ns)
        self.assertGreaterEqual(call.entry, series.entry + series.duration, "the series has ended")
        self.assertLessEqual(call.uncertain, call.duration)
        if call.uncertain:
            self.assertGreaterEqual(call.entry + call.uncertain, found.before_ns, "the interval contains the entry")
        else:
            self.assertGreaterEqual(call.entry, found.before_ns - US, "an entry without an interval is known to a microsecond")

    def test_a_transfer_inside_of_the_last_test_is_recorded(self):
        found = self.found("transfer")
        for one in found:
            self.check(one)
            self.assertGreaterEqual(one.call.duration, LONG_NS)
        self.assertTrue(any(one.call.uncertain for one in found), "most are untimed")

    def test_work_before_the_last_test_is_no_time_that_is_known_to_be_in_mpi(self):
        found = self.found("work")
        for one in found:
            self.check(one)
            self.assertLessEqual(one.call.duration - one.call.uncertain, one.after_ns - one.before_ns + US)
        self.assertTrue(any(one.call.uncertain >= LONG_NS for one in found), "most are untimed")

    def test_where_polls_are_dense_the_entry_is_known(self):
        found = self.found("dense")
        for one in found:
            self.check(one)
        exact = [one for one in found if not one.call.uncertain]
        self.assertGreater(len(exact), len(found) // 2, "some are interrupted, or find it late")

    def test_a_program_that_polls_in_bursts_soon_has_known_entries(self):
        found = self.found("bursts")
        for one in found:
            self.check(one)
        late = [one for one in found[20:] if one.call.uncertain > 100 * US]
        self.assertLessEqual(len(late), 2, "as many polls as a burst has are timed")

    def test_the_number_is_exact_after_a_kill_at_any_moment(self):
        _, trace = self.play("killed", f"{self.directory}/returned", code=None)
        with open(f"{self.directory}/returned", encoding="utf-8") as file:
            returned = int(file.read())
        self.assertGreater(returned, 1000)
        counts = trace.counts()["MPI_Test"]
        self.assertIn(counts - returned, (0, 1), "the last one had returned from MPI, or it had not")


if __name__ == "__main__":
    unittest.main(argv=[os.path.basename(__file__), "-v"])
