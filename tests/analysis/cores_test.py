"""Ranks that share cores, on real programs: whose CPU times are equal is not slow.

  cores_test.py NO_SCHEDSTAT MEGASCOPE WORKING HOSTS_DIRECTORY MPIRUN...

NO_SCHEDSTAT: a library that hides /proc/…/schedstat, as some containers do. The rest as faults_test.py, which has the case of a competitor.
"""

import os
import shutil
import statistics
import subprocess
import sys
import unittest

NO_SCHEDSTAT = sys.argv.pop(1)
import faults_test as faults  # noqa: E402

OF_ITSELF = {"slow_compute", "slow_host", "host_stall", "stage_imbalance", "input_imbalance"}  # a rank, and not who took its core
EQUAL = 1.1  # CPU times of ranks with the same work, on cores and caches that they share


class Cores(faults.Case):
    """Ranks that share cores are not slow, whoever waits longest; those that compute longer are."""

    def shared(self):
        cores = set(sorted(os.sched_getaffinity(0))[:2])
        if len(cores) < 2:
            self.skip("one core only")
        if not faults.counts_waits_for_a_core():
            self.skip("the kernel does not report how long threads wait for a core")
        return cores

    def usual_cpu_ns(self, rank):
        return statistics.median(step[1] for step in self.steps(rank)[faults.FROM:])

    def wrongly_accused(self, found, ranks):
        """Root causes that are slow by themselves, though they did not compute longer than the others in their steps."""
        wrong = []
        for cause in found["culprits"]:
            steps = slice(cause["onset_step"], cause["last_step"] + 1)
            cpu_ns = [statistics.mean(step[1] for step in self.steps(rank)[steps]) for rank in range(ranks)]
            others = [time for rank, time in enumerate(cpu_ns) if rank not in cause["ranks"]] or [min(cpu_ns)]
            if cause["kind"] in OF_ITSELF and max(cpu_ns[rank] for rank in cause["ranks"]) < EQUAL * statistics.median(others):
                wrong.append(cause)
        return wrong

    def say_shared(self, text):
        """The report and the analysis say in one line which ranks share cores."""
        self.assertRegex(" ".join(text.split()), r"Cores 4 ranks share 2 cores( \(\d+ hyper-threads\))? on node \S+")
        analysis = subprocess.run([faults.MEGASCOPE, "analyze", self.run_directory], capture_output=True, text=True, timeout=faults.LIMIT_S, check=False).stdout
        self.assertRegex(" ".join(analysis.split()), r"Cores: 4 ranks share 2 cores .*they waited \d+ % of their time for one")
        self.assertRegex(analysis, r"critical path +CPU +for a core")

    def test_equal_work_on_shared_cores_accuses_no_rank(self):
        cores = self.shared()
        for mode in ("allreduce", "parts"):
            with self.subTest(mode=mode):
                shutil.rmtree(self.run_directory, ignore_errors=True)
                text = self.play(4, mode, "spin", 10_000, cores=cores)
                times = [self.usual_cpu_ns(rank) for rank in range(4)]
                if max(times) > EQUAL * min(times):
                    self.skip(f"the machine disturbed the ranks' CPU times: {[round(time / 1e6, 2) for time in times]} ms")
                found = self.found()
                self.assertEqual(self.wrongly_accused(found, 4), [], found["verdict"])
                self.assertEqual(found["shared_cores"][0]["ranks"], [0, 1, 2, 3])
                self.assertEqual(found["shared_cores"][0]["cores"], 2)
                for rank in found["per_rank"]:
                    self.assertGreater(rank["cpu"]["core_wait_s"], 0.1 * rank["cpu"]["wall_s"])
                self.say_shared(text)

    def test_a_rank_with_more_work_on_its_own_core_is_slow(self):
        self.shared()
        self.play(2, "allreduce", "spin", 10_000, slow_rank=1, factor=1.3)
        found = self.check_root_cause("slow_compute", [1], range(faults.FROM - 3, faults.FROM + 4), {0: faults.STEPS, 1: faults.FROM})
        truth = self.usual_cpu_ns(1) / self.usual_cpu_ns(0)  # by the ranks' own readings: cores are not always equally fast
        self.assertGreater(truth, 1.2)
        self.assertAlmostEqual(found["culprits"][0]["factor"], truth, delta=0.1)

    def test_a_rank_with_more_work_on_shared_cores_is_the_only_one_that_may_be_slow(self):
        cores = self.shared()
        self.play(4, "allreduce", "spin", 10_000, slow_rank=2, factor=1.3, cores=cores)
        found = self.found()
        self.assertEqual(self.wrongly_accused(found, 4), [], found["verdict"])

    def test_without_schedstat_the_wait_is_not_known(self):
        cores = set(sorted(os.sched_getaffinity(0))[:2])
        text = self.play(4, "allreduce", "spin", 2_000, cores=cores, LD_PRELOAD=f"{NO_SCHEDSTAT}:{faults.LIBRARY}")
        found = self.found()
        for rank in found["per_rank"]:
            self.assertGreater(rank["cpu"]["cpu_s"], 0)
            self.assertIsNone(rank["cpu"]["core_wait_s"])
        self.assertEqual([one for one in found["culprits"] if one["kind"] == "preempted"], [])
        self.assertEqual(" ".join(text.split()).count("does not report how long"), 1, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + os.environ.get("FAULTS_TEST_ONLY", "").split(), verbosity=2)
