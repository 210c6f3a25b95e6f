"""Clocks of ranks that differ: how far the run's time is from the truth, which only this test knows.

  clock_test.py PROGRAM CLOCK_ERROR LIBRARY COMMAND TOOLS MPIRUN...
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

PROGRAM, CLOCK_ERROR, LIBRARY, COMMAND, TOOLS, *MPIRUN = sys.argv[1:]
sys.path.insert(0, TOOLS)
import in_directory  # noqa: E402
import launch  # noqa: E402

# What the corrected time may be off besides the delays of messages: the wrong clocks count in double precision, and ns.
ROUNDING_NS = 60
# A question and its answer between two processes of one machine: the quickest of many. Where more ranks than processors spin, it is
# the scheduler that answers, and none need be quick.
MOST_BOUND_NS = 100_000
TRIES = 4
PROCESSORS = len(os.sched_getaffinity(0))
FAKETIME = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)


def children_of(parents):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", ",".join(map(str, parents))], capture_output=True, text=True, check=True)
    return [int(pid) for pid in found.stdout.split()]


class Clocks(in_directory.InDirectory):
    def words(self, ranks, seconds, preload="", **options):
        variables = {"LD_PRELOAD": LIBRARY + preload, "MEGASCOPE_OUT": self.run_directory, "MEGASCOPE_SCRATCH": self.directory,
                     "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off", **options}
        return [*launch.setting(MPIRUN, **variables), "-n", str(ranks), PROGRAM, str(seconds)]

    def play(self, ranks, seconds, **options):
        result = self.finished(*MPIRUN, *self.words(ranks, seconds, **options))
        result.check_returncode()
        return result

    def wait_for_traces(self, ranks):
        """Until all ranks have filled their first buffer: then they are behind MPI_Init."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            traces = glob.glob(f"{self.directory}/megascope-*/*/rank-*.mgt")
            if len(traces) == ranks and all(os.stat(path).st_blocks * 512 > 256 * 1024 for path in traces):
                return
            time.sleep(0.05)
        self.fail("no traces of a running job in " + self.directory)

    def error(self, clocks=""):
        result = subprocess.run([CLOCK_ERROR, self.run_directory, *clocks.split("+")], capture_output=True, text=True, timeout=100,
                                check=True)
        return json.loads(result.stdout)

    def assert_right(self, found, domains):
        """As right as messages can tell: half of the quickest question and answer, at each moment that was measured, and in
        between no worse, because these clocks run evenly."""
        self.assertEqual(found["domains"], domains, found)
        self.assertEqual(found["measured"], domains, found)
        self.assertGreater(found["calls"], 100, found)
        if domains <= PROCESSORS:
            self.assertLessEqual(found["bound_ns"], MOST_BOUND_NS, found)
        self.assertLessEqual(found["max_ns"], found["bound_ns"] + ROUNDING_NS, found)
        self.assertGreater(found["collectives"], 100, found)
        self.assertLessEqual(found["reversed_ns"], 2 * found["bound_ns"] + ROUNDING_NS, found)

    def play_until_quick(self, clocks, *arguments, **options):
        """Plays until messages were quick once; what is wrong by more than its bound is wrong in every try."""
        for _ in range(TRIES):
            shutil.rmtree(self.run_directory, ignore_errors=True)
            self.play(*arguments, MEGASCOPE_TEST_CLOCK=clocks, **options)
            found = self.error(clocks)
            self.assertLessEqual(found["max_ns"], found["bound_ns"] + ROUNDING_NS, found)
            if found["bound_ns"] <= MOST_BOUND_NS or arguments[0] > PROCESSORS:
                break
        return found

    def test_one_clock_is_left_as_it_is(self):
        self.play(2, 0.2, MEGASCOPE_CLOCK="monotonic")
        found = self.error()
        self.assertEqual((found["domains"], found["samples"]), (1, 0), found)
        self.assertLessEqual(found["max_ns"], 1, found)

    def test_offset_and_drift(self):
        for clocks in ("1/1000000000/100", "1/-1000000000/-100", "0/5000000/50+1/0/-100"):
            with self.subTest(clocks=clocks):
                found = self.play_until_quick(clocks, 2, 1)
                self.assert_right(found, domains=2)
                self.assertEqual(found["samples"], 2, "at start and end")

    def test_five_clocks_are_composed_along_the_tree(self):
        clocks = "1/1000000000/100+2/-5000000/-50+3/77/3.5+4/-999999999/-100"
        self.assert_right(self.play_until_quick(clocks, 5, 1), domains=5)

    def test_unsteady_readings(self):
        clocks = "1/1000000/20/500"
        self.play(2, 1, MEGASCOPE_TEST_CLOCK=clocks)
        found = self.error(clocks)
        self.assertLessEqual(found["max_ns"], found["bound_ns"] + 500 + ROUNDING_NS, found)

    def test_compared_again_while_the_program_runs(self):
        clocks = "1/1000000000/100"
        found = self.play_until_quick(clocks, 2, 2, MEGASCOPE_SYNC_INTERVAL="0.2")
        self.assert_right(found, domains=2)
        self.assertGreaterEqual(found["samples"], 3, "start, end, and in between")
        self.assertLessEqual(found["samples"], 14, "not more often than asked for")

    def test_ranks_with_other_settings_are_not_waited_for(self):
        """They count collectives differently, or do not want to come: clocks are compared at start and end, and no rank hangs."""
        for other in ({"MEGASCOPE_SYNC_INTERVAL": "0"}, {"MEGASCOPE_MPI": "-MPI_Bcast"}, {"MEGASCOPE_ALL_RANKS": "1"}):
            with self.subTest(other=other):
                shutil.rmtree(self.run_directory, ignore_errors=True)
                common = {"MEGASCOPE_TEST_CLOCK": "1/1000000000/100", "MEGASCOPE_SYNC_INTERVAL": "0.1"}
                first = self.words(1, 1, **common)
                second = self.words(1, 1, **{**common, **other})
                # Of Hydra's words for settings this one is for one part of the program.
                command = [*MPIRUN, *("-env" if word == "-genv" else word for word in [*first, ":", *second])]
                subprocess.run(command, cwd=self.directory, capture_output=True, text=True, timeout=100, check=True)
                found = self.error("1/1000000000/100")
                self.assertEqual(found["measured"], 2, found)
                if "MEGASCOPE_ALL_RANKS" not in other:
                    self.assertEqual(found["samples"], 2, found)

    def test_a_rank_that_counts_collectives_otherwise_costs_a_second_once(self):
        """One rank calls PMPI_Barrier now and then where the others call MPI_Barrier: it comes to other collectives than they."""
        begin = time.monotonic()
        command = [*MPIRUN, *self.words(3, 1, MEGASCOPE_TEST_CLOCK="1/1000000000/100", MEGASCOPE_SYNC_INTERVAL="0.05"), "uncounted"]
        subprocess.run(command, cwd=self.directory, capture_output=True, text=True, timeout=100, check=True)
        self.assertLess(time.monotonic() - begin, 60, "no rank waits for ever")
        found = self.error("1/1000000000/100")
        self.assertEqual((found["domains"], found["measured"]), (3, 3), found)

    def test_every_collective_that_waits_for_all_will_do(self):
        for kind in ("barrier", "allgather", "alltoall", "empty"):
            with self.subTest(kind=kind):
                shutil.rmtree(self.run_directory, ignore_errors=True)
                clocks = "1/1000000000/100"
                command = [*MPIRUN, *self.words(2, 1, MEGASCOPE_TEST_CLOCK=clocks, MEGASCOPE_SYNC_INTERVAL="0.1"), kind]
                subprocess.run(command, cwd=self.directory, capture_output=True, text=True, timeout=100, check=True)
                found = self.error(clocks)
                if kind == "empty":
                    self.assertEqual(found["samples"], 2, "without data no rank need wait for another")
                else:
                    self.assertGreaterEqual(found["samples"], 3, found)

    def test_a_run_that_is_killed_knows_its_clocks(self):
        clocks = "1/1000000000/100"
        process = subprocess.Popen([*MPIRUN, *self.words(2, 60, MEGASCOPE_TEST_CLOCK=clocks, MEGASCOPE_SYNC_INTERVAL="0.2")],
                                   cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        self.wait_for_traces(2)
        ranks = children_of([process.pid])
        if launch.is_hydra(MPIRUN):  # there is a process of the launcher's between
            ranks = children_of(ranks)
        self.assertEqual(len(ranks), 2)
        launch.kill_all(ranks)
        process.wait(timeout=60)
        subprocess.run([COMMAND, "recover", self.run_directory], capture_output=True, check=True, timeout=60)
        found = self.error(clocks)
        # How many comparisons there had been is chance; the bound knows how far from the last of them the end is.
        self.assertEqual((found["domains"], found["measured"]), (2, 2), found)
        self.assertGreaterEqual(found["samples"], 1)
        self.assertGreater(found["collectives"], 100, found)
        self.assertLessEqual(found["max_ns"], found["bound_ns"] + ROUNDING_NS, found)
        self.assertLess(found["bound_ns"], 1e6, found)

    def test_a_clock_that_lies_about_itself_is_found_out(self):
        """Both claim to be CLOCK_MONOTONIC of this boot; one is a thousand seconds and 100 ppm off."""
        if FAKETIME is None or launch.is_hydra(MPIRUN):
            return  # tests/hosts says when libfaketime is missing
        first = self.words(1, 2, MEGASCOPE_CLOCK="monotonic", MEGASCOPE_SYNC_INTERVAL="0.5")
        second = self.words(1, 2, preload=":" + FAKETIME, MEGASCOPE_CLOCK="monotonic", MEGASCOPE_SYNC_INTERVAL="0.5",
                            FAKETIME="+1000s x1.0001", FAKETIME_DONT_RESET="1")
        result = subprocess.run([*MPIRUN, *first, ":", *second], cwd=self.directory, capture_output=True, text=True, timeout=100,
                                check=True)
        self.assertIn("steps", result.stdout)
        found = self.error()
        self.assertEqual((found["domains"], found["measured"]), (2, 2), found)
        self.assertGreaterEqual(found["samples"], 3)
        self.assertGreater(found["collectives"], 100, found)
        self.assertLessEqual(found["reversed_ns"], 10 * found["bound_ns"], "everybody enters before anybody leaves")

    def test_words_that_say_nothing_are_told(self):
        result = self.play(2, 0.1, MEGASCOPE_TEST_CLOCK="1/x/2+0/0/0+1/5", MEGASCOPE_SYNC_INTERVAL="soon")
        for word in ("1/x/2", "1/5"):
            self.assertIn(f"MEGASCOPE_TEST_CLOCK: {word} is not <rank>/<offset_ns>/<drift_ppm>[/<jitter_ns>]", result.stderr)
        self.assertIn("MEGASCOPE_SYNC_INTERVAL=soon: expected a number of seconds", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
