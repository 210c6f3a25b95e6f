"""megascope hang on programs that really hang, as a user runs it: while they run and after they were killed.

  hang_programs_test.py MEGASCOPE HANGING MPIRUN...     one test: hang_programs_test.py ... -- Class.name
"""

import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

MEGASCOPE, HANGING, *MPIRUN = sys.argv[1:]
if "--" in MPIRUN:
    WANTED = MPIRUN[MPIRUN.index("--") + 1:]
    MPIRUN = MPIRUN[:MPIRUN.index("--")]
else:
    WANTED = []
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools"))
import in_directory  # noqa: E402
import launch  # noqa: E402
PRELOADED = [*MPIRUN, *launch.setting(MPIRUN, LD_PRELOAD=LIBRARY)]
WORLD = "MPI_COMM_WORLD"


class Case(in_directory.InDirectory):
    def setUp(self):
        super().setUp()
        self.scratch = self.make_directory("scratch")
        self.ready = self.path("ready")
        self.stop = self.path("stop")

    def job_environment(self):
        return self.environment(MEGASCOPE_SCRATCH=self.scratch, MEGASCOPE_EXPORT="none", MEGASCOPE_OUT=self.run_directory,
                                HANGING_READY=self.ready, HANGING_STOP=self.stop)

    def pids(self):
        with contextlib.suppress(FileNotFoundError), open(self.ready, encoding="utf-8") as file:
            return [int(line) for line in file.read().splitlines()]
        return []

    @contextlib.contextmanager
    def hanging(self, mode, ranks, ready=None):
        """A job that has come to where it hangs."""
        with subprocess.Popen([*PRELOADED, "-n", str(ranks), HANGING, mode], cwd=self.directory,
                              env=self.job_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            try:
                deadline = time.monotonic() + 60
                while len(self.pids()) < (ranks if ready is None else ready):
                    self.assertIsNone(job.poll(), "the program ended")
                    self.assertLess(time.monotonic(), deadline, "the program did not come to where it hangs")
                    time.sleep(0.02)
                time.sleep(0.5)
                yield job
            finally:
                self.kill()
                job.terminate()
                job.wait(timeout=50)

    def kill(self):
        for pid in set(self.pids()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def hang(self, *words):
        return self.finished(MEGASCOPE, "hang", self.run_directory, *words)

    def found(self):
        result = self.hang("--format", "json")
        self.assertEqual(result.stderr, "")
        found = json.loads(result.stdout)
        self.assertEqual(result.returncode, 1 if found["finding"] else 0)
        return found

    def circles(self, found):
        return [[(step["rank"], step["function"], step["next_rank"]) for step in circle] for circle in found["deadlocks"]]

    def of_mode(self, mode, ranks, ready=None):
        with self.hanging(mode, ranks, ready):
            return self.found()

    def state_of(self, found, rank, thread=0):
        return found["per_rank"][rank]["threads"][thread]


class Circles(Case):
    def test_two_that_receive_from_each_other(self):
        with self.hanging("receive-ring", 2):
            found = self.found()
            text = self.hang().stdout
        self.assertTrue(found["running"])
        self.assertEqual(self.circles(found), [[(0, "MPI_Recv", 1), (1, "MPI_Recv", 0)]])
        want = found["deadlocks"][0][0]["waits_for"]
        self.assertEqual((want["kind"], want["rank"], want["tag"], want["communicator"]), ("receive", 1, 7, WORLD))
        self.assertGreater(found["now_s"] - want["since_s"], 0.2)
        self.assertIn("Deadlock: 2 ranks wait for each other in a cycle.\n", text)
        self.assertIn(f"rank 0 waits in MPI_Recv of `{WORLD}` for a message from rank 1 (tag 7)", text)

    def test_the_same_after_a_kill_and_after_recovery(self):
        with self.hanging("receive-ring", 2):
            running = self.found()
            self.kill()
        killed = self.found()
        self.assertFalse(killed["running"])
        self.assertEqual(self.circles(killed), self.circles(running))
        self.assertEqual(glob.glob(os.path.join(self.run_directory, "rank-*")), [], "nothing was moved")
        subprocess.run([MEGASCOPE, "recover", self.run_directory], check=True, capture_output=True, timeout=50)
        self.assertEqual(self.circles(self.found()), self.circles(running))
        self.assertIn("not running here", self.hang().stdout)
        report = subprocess.run([MEGASCOPE, "report", self.run_directory], check=True, capture_output=True, text=True, timeout=50)
        self.assertIn("To see which ranks wait for which: megascope hang", report.stdout)

    def test_a_copy_taken_before_gives_way_to_the_trace_itself(self):
        with self.hanging("receive-ring", 2):
            subprocess.run([MEGASCOPE, "recover", self.run_directory], check=True, capture_output=True, timeout=50)
            self.assertEqual(self.circles(self.found()), [[(0, "MPI_Recv", 1), (1, "MPI_Recv", 0)]])

    def test_four_that_receive_in_a_ring(self):
        found = self.of_mode("receive-ring", 4)
        self.assertEqual(self.circles(found), [[(rank, "MPI_Recv", (rank + 1) % 4) for rank in range(4)]])

    def test_a_ring_of_synchronous_sends(self):
        with self.hanging("ssend-ring", 4):
            found = self.found()
            text = self.hang().stdout
        self.assertEqual(self.circles(found), [[(rank, "MPI_Ssend", (rank + 1) % 4) for rank in range(4)]])
        self.assertIn("waits for its rank + 1 to receive the message (tag 3, 4 B)", text)
        self.assertEqual(text.count("  ranks 0-3  "), 1)

    def test_a_ring_of_large_standard_sends(self):
        found = self.of_mode("large-send-ring", 3)
        self.assertEqual(self.circles(found), [[(rank, "MPI_Send", (rank + 1) % 3) for rank in range(3)]])

    def test_probes(self):
        found = self.of_mode("probe", 2)
        self.assertEqual(self.circles(found), [[(0, "MPI_Probe", 1), (1, "MPI_Probe", 0)]])
        self.assertEqual(found["deadlocks"][0][0]["waits_for"]["rank"], "any")

    def test_a_send_and_receive(self):
        found = self.of_mode("sendrecv", 2)
        self.assertEqual(self.circles(found), [[(0, "MPI_Sendrecv", 1), (1, "MPI_Sendrecv", 0)]])
        self.assertEqual(found["deadlocks"][0][0]["waits_for"]["tag"], 2)

    def test_polling_is_a_doubtful_deadlock(self):
        with self.hanging("test-loop", 2):
            self.assertEqual(self.circles(self.found()), [[(0, "MPI_Test", 1), (1, "MPI_Test", 0)]])
            self.assertIn("Perhaps a deadlock: ", self.hang().stdout)

    def test_threads_wait_each_for_its_own(self):
        found = self.of_mode("threads", 2, ready=4)
        self.assertEqual(self.circles(found), [[(0, "MPI_Recv", 1), (1, "MPI_Recv", 0)]])
        wants = {(rank, thread["waits_for"][0]["tag"]) for rank in (0, 1) for thread in found["per_rank"][rank]["threads"]}
        self.assertEqual(wants, {(0, 10), (0, 20), (1, 11), (1, 21)})

    def test_a_thread_outside_of_mpi_could_help(self):
        with self.hanging("idle-thread", 2):
            found = self.found()
            text = self.hang().stdout
        self.assertEqual((found["deadlocks"], found["finding"]), ([], False))
        self.assertIn("Rank 1: its thread 1 is outside MPI", text)


class Requests(Case):
    def test_a_sender_that_is_missing_among_others(self):
        found = self.of_mode("waitall-missing", 4)
        self.assertEqual(self.circles(found), [[(0, "MPI_Waitall", 3), (3, "MPI_Recv", 0)]])
        done = {want["rank"]: want["other_side_done"] for want in self.state_of(found, 0)["waits_for"]}
        self.assertEqual(done, {1: True, 2: True, 3: False})

    def test_a_message_with_another_tag_is_not_the_one(self):
        found = self.of_mode("wait-wrong-tag", 2)
        self.assertEqual(self.circles(found), [[(0, "MPI_Wait", 1), (1, "MPI_Wait", 0)]])
        self.assertEqual([want["tag"] for want in self.state_of(found, 0)["waits_for"]], [2])

    def test_a_nonblocking_collective(self):
        found = self.of_mode("nonblocking", 3)
        self.assertEqual(self.circles(found), [[(0, "MPI_Wait", 2), (2, "MPI_Recv", 0)]])
        self.assertEqual(found["collectives"],
                         [{"communicator": "dp", "sequence": 0, "function": "MPI_Ibarrier", "not_entered": [2]}])


class Collectives(Case):
    def test_one_rank_in_another(self):
        with self.hanging("other-collective", 4):
            found = self.found()
            text = self.hang().stdout
        self.assertEqual([(m["communicator"], m["sequence"], m["what"]) for m in found["mismatches"]],
                         [("dp", 17, "function")])
        self.assertIn("#17 of `dp`: rank 3 called MPI_Barrier, ranks 0-2 called MPI_Allreduce.", text)
        self.assertIn("  ranks 0-2  in MPI_Allreduce #17 of `dp` since", text)

    def test_another_root(self):
        found = self.of_mode("other-root", 4)
        self.assertEqual(found["mismatches"][0]["text"],
                         "#0 of `dp`: rank 1 called MPI_Bcast with root 1, ranks 0, 2, 3 called MPI_Bcast with root 0")

    def test_one_that_never_comes(self):
        with self.hanging("one-sleeps", 4):
            found = self.found()
            text = self.hang().stdout
        self.assertEqual((found["deadlocks"], found["mismatches"], found["finding"]), ([], [], False))
        self.assertEqual(found["waited_for"], [{"rank": 3, "waiting_ranks": 3}])
        self.assertRegex(text, r"Rank 3: outside MPI since .*, after MPI_Barrier\. 3 ranks wait for it\.")
        self.assertIn("ranks 0-2  in MPI_Barrier #3 of `dp`", text)

    def test_two_groups(self):
        found = self.of_mode("intercomm", 4)
        self.assertEqual(self.circles(found), [[(0, "MPI_Barrier", 1), (1, "MPI_Recv", 0)]])
        self.assertEqual(found["collectives"][0]["not_entered"], [1, 3])


class Ends(Case):
    @unittest.skipIf(launch.is_hydra(MPIRUN), "Hydra ends a job of which a rank has exited")
    def test_a_rank_that_died(self):
        with self.hanging("one-dies", 3, ready=2):
            found = self.found()
            text = self.hang().stdout
        self.assertEqual(found["per_rank"][1]["state"], "died")
        self.assertTrue(found["finding"])
        self.assertIn("Rank 1: has died (its process has ended).", text)
        self.assertEqual((found["open_ends"]["first"], found["open_ends"]["evidence"]), ([1], "gone"))
        self.assertIn("Rank 1 did not reach MPI_Finalize: it ended outside of MPI, after MPI_Barrier returned at", text)
        self.assertIn("a message from rank 1 (tag 5; rank 1 has died (its process has ended))", " ".join(text.split()))

    def test_a_rank_that_finished(self):
        with self.hanging("one-finishes", 3):
            found = self.found()
            text = " ".join(self.hang().stdout.split())
        self.assertIn("a message from rank 1 (tag 5; rank 1 has finalized)", text)
        self.assertIn("Rank 1: has finalized: in MPI_Finalize or ended since", text)
        self.assertEqual([rank["state"] for rank in found["per_rank"]], ["goes_on", "finalized", "goes_on"])
        self.assertEqual(found["waited_for"], [{"rank": 1, "waiting_ranks": 2}])
        self.assertTrue(found["finding"])

    def test_a_healthy_job_is_not_accused_and_not_disturbed(self):
        with self.hanging("healthy", 3) as job:
            for _ in range(20):
                found = self.found()
                self.assertEqual((found["deadlocks"], found["mismatches"]), ([], []))
            self.assertIn("No ranks wait for each other in a cycle.", self.hang().stdout)
            with open(self.stop, "w", encoding="utf-8"):
                pass
            self.assertEqual(job.wait(timeout=50), 0)
        self.assertEqual(self.hang().returncode, 0)
        self.assertIn("all reached MPI_Finalize", self.hang().stdout)

    def test_a_rank_without_a_trace_is_named(self):
        with self.hanging("receive-ring", 3):
            self.kill()
        os.remove(glob.glob(os.path.join(self.scratch, "*", "*", "rank-1.mgt"))[0])
        found = self.found()
        self.assertEqual((found["per_rank"][1]["state"], found["deadlocks"]), ("missing", []))
        self.assertIn("there is no trace of rank 1 here", self.hang().stdout)
        self.assertIn("a message from rank 1 (tag 7), details unknown", self.hang().stdout)

    def test_counts_that_differ_at_the_end(self):
        subprocess.run([*PRELOADED, "-n", "3", HANGING, "uneven"], cwd=self.directory, check=True,
                       env=self.job_environment(), capture_output=True, timeout=50)
        with open(os.path.join(self.run_directory, "report.txt"), encoding="utf-8") as file:
            report = " ".join(file.read().split())
        self.assertIn("Collectives ranks called different collectives on `dp`; the first difference: megascope hang", report)
        with open(os.path.join(self.run_directory, "report.json"), encoding="utf-8") as file:
            comms = {comm["name"]: comm["collectives_differ"] for comm in json.load(file)["communicators"]}
        self.assertEqual((comms["dp"], comms[WORLD]), (True, False))
        later = subprocess.run([MEGASCOPE, "report", self.run_directory], check=True, capture_output=True, text=True, timeout=50)
        self.assertIn("mismatched collectives: On `dp`: rank 0 made 2", " ".join(later.stdout.split()))
        result = self.hang()
        self.assertEqual(result.returncode, 1)
        self.assertIn("On `dp`: rank 0 made 2 collectives, the last is MPI_Bcast; ranks 1, 2 made 1 collective, the last is "
                      "MPI_Allreduce.", " ".join(result.stdout.split()))


class Killed(Case):
    """One rank is killed, the launcher then ends the others: what is said of the rank that died, by all commands."""

    def killed(self, mode, ranks=3):
        with subprocess.Popen([*PRELOADED, "-n", str(ranks), HANGING, mode], cwd=self.directory, env=self.job_environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            self.assertNotEqual(job.wait(timeout=100), 0)
        recovered = subprocess.run([MEGASCOPE, "recover", self.run_directory], capture_output=True, text=True, timeout=50)
        self.assertEqual(recovered.returncode, 0, recovered.stdout + recovered.stderr)
        ends = {}
        for command in ("hang", "report", "analyze"):
            options = ["--json"] if command != "hang" else ["--format", "json"]
            as_json, as_text = (subprocess.run([MEGASCOPE, command, self.run_directory, *more], capture_output=True, text=True,
                                               timeout=100) for more in (options, []))
            self.assertIn(as_json.returncode, (0, 1), as_json.stderr)
            ends[command] = json.loads(as_json.stdout)["open_ends"]
            self.assertIn(ends[command]["text"], " ".join(as_text.stdout.split()), command)
        self.assertEqual(ends["report"], ends["hang"])
        self.assertEqual(ends["analyze"], ends["hang"])
        return ends["hang"]

    def test_outside_of_mpi(self):
        ends = self.killed("killed-outside")
        self.assertEqual((ends["first"], ends["evidence"]), ([1], "awaited"))
        self.assertRegex(ends["text"], r"^Rank 1 did not reach MPI_Finalize: it ended outside of MPI, after MPI_Sendrecv returned at [0-9.]+ m?s\. "
                                       r"Ranks 0, 2 waited for it: it ended first, unless a rank was killed while it waited\.$")

    def test_in_a_call_that_the_others_have_left(self):
        ends = self.killed("killed-inside")
        self.assertEqual((ends["first"], ends["evidence"]), ([1], "left_behind"))
        self.assertRegex(ends["text"], r"^Rank 1 did not reach MPI_Finalize: it was killed in MPI_Reduce, entered at [0-9.]+ m?s\. Ranks 0, 2 waited for it")

    def test_when_the_others_are_at_their_end(self):
        ends = self.killed("killed-last")
        self.assertEqual((ends["first"], ends["evidence"]), ([1], "only_one"))
        self.assertRegex(ends["text"], r"^Rank 1 did not reach MPI_Finalize: it was killed in MPI_Recv, entered at [0-9.]+ m?s\. All other ranks reached "
                                       r"MPI_Finalize\.$")

    def test_while_it_waits_is_not_synthetic(self):
        """Nothing in the traces shows it: rank 0 is named as the one that is waited for, and the other possibility with it."""
        ends = self.killed("killed-waiting")
        self.assertEqual(ends["evidence"], "awaited")
        self.assertIn("Ranks 1, 2 waited for it: it ended first, unless a rank was killed while it waited.", ends["text"])

    def test_an_abort_is_no_kill(self):
        ends = self.killed("one-aborts")
        self.assertEqual((ends["first"], ends["evidence"]), ([], "not_shown"))
        self.assertEqual(ends["text"], "Rank 1 called MPI_Abort; ranks 0, 2 did not reach MPI_Finalize.")

    def test_a_report_of_a_killed_run_names_the_command_for_the_verdict(self):
        self.killed("killed-outside")
        report = subprocess.run([MEGASCOPE, "report", self.run_directory], check=True, capture_output=True, text=True, timeout=50)
        self.assertIn(f"Verdict megascope analyze '{self.run_directory}' shows which ranks delay the others", " ".join(report.stdout.split()))


class Inputs(Case):
    def test_bad_directories_are_named(self):
        empty = os.path.join(self.directory, "empty")
        os.mkdir(empty)
        for directory in (os.path.join(self.directory, "nosuch"), empty):
            result = subprocess.run([MEGASCOPE, "hang", directory], capture_output=True, text=True, timeout=50)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(directory, result.stderr)

    def test_a_damaged_trace_is_named_and_the_rest_is_read(self):
        with self.hanging("receive-ring", 3):
            self.kill()
        traces = sorted(glob.glob(os.path.join(self.scratch, "*", "*", "rank-*.mgt")))
        with open(traces[2], "r+b") as file:
            file.write(b"nonsense")
        result = self.hang()
        self.assertIn("rank-2.mgt", result.stderr)
        self.assertIn("there is no trace of rank 2 here", result.stdout)
        for path in traces[:2]:
            os.remove(path)
        self.assertEqual(self.hang().returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *WANTED], verbosity=2)
