"""Real faults are found and named; and no rank is named without one.

  faults_test.py MEGASCOPE WORKING HOSTS_DIRECTORY MPIRUN...

Ranks write down how long each step's work took, and how long they waited for a core: that is the truth. Where it shows that the machine
itself disturbed them, a test is skipped, because the ranks are then slow in truth; what it does not show must not be found.
FAULTS_TEST_KEEP names a directory for what the tests leave.
"""

import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import unittest

MEGASCOPE, WORKING, HOSTS, *MPIRUN = sys.argv[1:]
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")
sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"), HOSTS]
import hosts  # noqa: E402
import in_directory  # noqa: E402
import launch  # noqa: E402
import relay  # noqa: E402

LIMIT_S = 100
STEPS = 120
FROM = STEPS // 4  # when faults begin
KEEP = os.environ.get("FAULTS_TEST_KEEP")
SLOW_NETWORK = "10.99.72"
# The machine disturbed a rank when its usual step is so much longer than another's, or so many of its steps are much longer.
APART, MUCH, MANY = 1.008, 1.15, 0.03
SMALL = 0.01  # of the run
LATE_NS = 500_000  # that a process waited for a core in a step


def come_first():
    """Before the other work of the machine, where that is allowed: as a process, and as the group that its session is."""
    os.setsid()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write("-20")
    except OSError:
        pass


def counts_waits_for_a_core():
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[2]) != 0
    except OSError:
        return False


class Case(in_directory.InDirectory):
    parent = "/tmp"
    limit_s = LIMIT_S

    def setUp(self):
        super().setUp()
        if KEEP:
            self.addCleanup(shutil.copytree, self.directory, os.path.join(KEEP, self._testMethodName), dirs_exist_ok=True)
        self.truth = self.directory + "/truth"

    def skip(self, reason):
        print(f"faults_found: Skipped\n{reason}\n[  SKIPPED ] {type(self).__name__}.{self._testMethodName} (0 ms)")  # for run_ctest.py
        self.skipTest(reason)

    def play(self, ranks, mode, kind, work_us, during=None, slow_rank=-1, factor=1.0, cores=None, **variables):
        """Runs the program, `during` beside it from a quarter of its steps on; what it said on stderr. cores: that all ranks share; None: one
        each, where they compute."""
        def prepare():
            come_first()
            if cores:
                os.sched_setaffinity(0, cores)

        settings = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_SCRATCH": self.directory, "MEGASCOPE_EXPORT": "otf2", "MEGASCOPE_OUT": self.run_directory,
                    **variables}
        words = [*MPIRUN, *launch.setting(MPIRUN, **settings), "-n", str(ranks), WORKING, mode, kind, str(STEPS), str(work_us),
                 str(slow_rank), str(factor), str(FROM), self.truth]
        process = subprocess.Popen(words, cwd=self.directory, env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=prepare)
        try:
            if kind == "spin" and not cores:
                self.pin(ranks, process)
            if during is not None:
                self.wait_for(".working", process)
                during(process)
            text = process.communicate(timeout=LIMIT_S)[1]
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 0, text)
        return text

    def pin(self, ranks, process):
        for rank, core in zip(range(ranks), sorted(os.sched_getaffinity(0))):
            self.wait_for(f".{rank}.pid", process)
            os.sched_setaffinity(self.pid(rank), {core})

    def wait_for(self, ending, process=None):
        end = time.monotonic() + LIMIT_S
        while not os.path.exists(self.truth + ending):
            self.assertLess(time.monotonic(), end, ending)
            if process is not None and process.poll() is not None:
                self.fail(process.communicate()[1])
            time.sleep(0.002)

    def pid(self, rank):
        with open(f"{self.truth}.{rank}.pid", encoding="utf-8") as file:
            return int(file.read())

    def found(self):
        result = self.finished(MEGASCOPE, "analyze", self.run_directory, "--json")
        found = json.loads(result.stdout)
        self.assertEqual((result.returncode, result.stderr), (1 if found["culprits"] else 0, ""))
        return found

    def steps(self, rank):
        """[(wall time of the work, CPU time of it, time without a core)] by step, in ns."""
        with open(f"{self.truth}.{rank}", encoding="utf-8") as file:
            return [tuple(map(int, line.split())) for line in file]

    def disturbance(self, steps_of):
        """How the machine disturbed one of these ranks, which no other rank disturbed in so many steps; None: it did not."""
        walls = {rank: [step[0] for step in self.steps(rank)[:count]] for rank, count in steps_of.items()}
        usual = min(statistics.median(all_steps) for all_steps in walls.values())
        for rank, all_steps in walls.items():
            quarter = len(all_steps) // 4
            for part in range(4):
                median = statistics.median(all_steps[part * quarter:(part + 1) * quarter])
                if median > APART * usual:
                    return f"the machine disturbed rank {rank}: a step took {median / usual:.3f} times as long as usual"
            long_steps = sum(wall > MUCH * usual for wall in all_steps)
            late_steps = sum(step[2] > LATE_NS for step in self.steps(rank)[:len(all_steps)])
            if max(long_steps, late_steps) > MANY * len(all_steps):
                return f"the machine disturbed rank {rank}: {long_steps} steps were long, in {late_steps} it waited for a core"
        return None

    def check_healthy(self, ranks, text):
        found = self.check_no_rank(ranks)
        self.assertTrue(" ".join(text.split()).endswith("Verdict " + " ".join(found["verdict"].split())), text)
        if not found["culprits"]:
            self.assertRegex(found["verdict"], "^Ranks (hardly )?wait for each other")

    def check_no_rank(self, ranks):
        """No rank costs more than small disturbances do, which every machine has, and which are found."""
        found = self.found()
        expensive = [cause for cause in found["culprits"] if cause["cost_fraction"] > SMALL]
        wrong = [cause for cause in found["culprits"] if cause["kind"] != "slow_link" and not self.is_slow(cause, ranks)]
        if expensive or wrong:
            if reason := self.disturbance(dict.fromkeys(range(ranks), STEPS)):
                self.skip(reason)
        self.assertEqual(expensive + wrong, [], ["named, but dear or not slow in truth", [self.slowness(one, ranks) for one in wrong]])
        return found

    def is_slow(self, cause, ranks):
        """In truth, not in the trace."""
        steps = cause["last_step"] + 1 - cause["onset_step"]
        in_some = cause["active_steps"] / steps  # in the others it was as fast as they, which the mean has as well
        return self.slowness(cause, ranks) > 1 + 0.003 * in_some - 3 * self.uncertainty(cause, ranks)

    def uncertainty(self, cause, ranks):
        """Of the difference of two ranks' means, as their steps are not all alike: its standard deviation, of the usual step."""
        deviations = []
        for rank in range(ranks):
            walls = [step[0] for step in self.steps(rank)[cause["onset_step"]:cause["last_step"] + 1]]
            deviations.append(statistics.stdev(walls) / statistics.mean(walls) / math.sqrt(len(walls)) if len(walls) > 1 else 1.0)
        return math.hypot(max(deviations), min(deviations))

    def slowness(self, cause, ranks):
        """How much longer the work of the root cause's slowest rank took than that of the others, in its steps: in all of them, or in all
        but the longest tenth, as one long step of another rank hides many that were a little longer."""
        return max(self.slowness_in(cause, ranks, share) for share in (1.0, 0.9))

    def slowness_in(self, cause, ranks, share):
        means = {}
        for rank in range(ranks):
            walls = sorted(step[0] for step in self.steps(rank)[cause["onset_step"]:cause["last_step"] + 1])
            means[rank] = statistics.mean(walls[:math.ceil(share * len(walls))])
        others = [mean for rank, mean in means.items() if rank not in cause["ranks"]] or [min(means.values())]
        return max(means[rank] for rank in cause["ranks"]) / min(others)

    def check_root_cause(self, kind, ranks, onset, steps_of):
        """The most expensive cause, and that it became one in one of the steps `onset`. steps_of: as many steps as no fault was
        made in, by rank."""
        found = self.found()
        first = found["culprits"][0] if found["culprits"] else {"kind": None, "ranks": [], "onset_step": -1}
        is_right = (first["kind"], first["ranks"]) == (kind, ranks) and first["onset_step"] in onset
        if not is_right:
            if reason := self.disturbance(steps_of):
                self.skip(reason)
        self.assertTrue(is_right, [found["verdict"], found["culprits"]])
        return found


class Report(Case):
    """The report at the end of a run ends with the verdict."""

    def test_of_a_slow_rank_names_it(self):
        text = self.play(4, "allreduce", "sleep", 2000, slow_rank=2, factor=1.5)
        kind = "blocked" if counts_waits_for_a_core() else "slow_compute"  # it sleeps for longer than the others
        found = self.check_root_cause(kind, [2], range(FROM - 3, FROM + 4), {0: STEPS, 1: STEPS, 2: FROM, 3: STEPS})
        self.assertAlmostEqual(found["culprits"][0]["factor"], 1.5, delta=0.2)
        lines = " ".join(text.split())
        self.assertTrue(lines.endswith("Verdict " + " ".join(found["verdict"].split())), text)
        self.assertIn("Rank 2 (", found["verdict"])
        with open(self.run_directory + "/report.json", encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((report["verdict"], report["is_analyzed"]), (found["verdict"], True))
        with open(self.run_directory + "/report.txt", encoding="utf-8") as file:
            self.assertTrue(" ".join(file.read().split()).endswith(" ".join(found["verdict"].split())))
        again = subprocess.run([MEGASCOPE, "report", self.run_directory], capture_output=True, text=True, timeout=LIMIT_S, check=True)
        self.assertTrue(" ".join(again.stdout.split()).endswith(" ".join(found["verdict"].split())), again.stdout)

    def test_without_exports_the_command_for_one_is_named(self):
        text = self.play(4, "allreduce", "sleep", 1000, slow_rank=2, factor=2, MEGASCOPE_EXPORT="none")
        self.assertIn("Run directory", text)
        self.assertTrue(" ".join(text.split()).endswith(f"Verdict megascope analyze '{self.run_directory}' shows which ranks delay the others, and why"), text)
        with open(self.run_directory + "/report.json", encoding="utf-8") as file:
            self.assertFalse(json.load(file)["is_analyzed"])

    def test_of_one_rank_has_none(self):
        text = self.play(1, "allreduce", "sleep", 100)
        self.assertIn("Run directory", text)
        self.assertNotIn("Verdict", text)


class Healthy(Case):
    def test_reductions(self):
        self.check_healthy(4, self.play(4, "allreduce", "sleep", 2000))

    def test_a_ring(self):
        self.check_healthy(2, self.play(2, "parts", "sleep", 8000))

    def test_messages_there_and_back(self):
        self.check_healthy(2, self.play(2, "pingpong", "sleep", 2000))

    def test_ranks_that_compute(self):
        self.check_healthy(2, self.play(2, "parts", "spin", 8000))


class Faults(Case):
    def test_a_process_competes_for_the_core_of_a_rank(self):
        cores = sorted(os.sched_getaffinity(0))[:2]
        if len(cores) < 2:
            self.skip("one core only")
        words = [sys.executable, "-c", f"import os, sys\nos.sched_setaffinity(0, {{{cores[1]}}})\nsys.stdin.readline()\nwhile True: pass"]
        competitor = subprocess.Popen(words, stdin=subprocess.PIPE, preexec_fn=come_first)  # starting takes longer than the program runs

        def compete(_):
            competitor.stdin.write(b"now\n")
            competitor.stdin.flush()

        try:
            self.play(2, "allreduce", "spin", 10_000, during=compete)
        finally:
            competitor.kill()
            competitor.communicate()
        walls = [statistics.mean(step[0] for step in self.steps(rank)[FROM + 20:]) for rank in range(2)]
        if walls[1] < 1.4 * walls[0]:
            self.skip(f"the machine disturbed the other rank too: {walls[0] / 1e6:.1f} ms, {walls[1] / 1e6:.1f} ms")
        kind = "preempted" if counts_waits_for_a_core() else "slow_compute"
        found = self.check_root_cause(kind, [1], range(FROM - 2, FROM + 40), {0: STEPS, 1: FROM - 2})
        if kind == "preempted":
            waited_s = sum(step[2] for step in self.steps(1)[FROM:]) / 1e9  # the calls between the steps too
            self.assertGreater(found["culprits"][0]["core_wait_s"], 0.6 * waited_s)
            self.assertLess(found["culprits"][0]["core_wait_s"], 1.1 * waited_s)
            self.assertIn(" for a core: ", found["verdict"])

    def test_a_rank_is_stopped_now_and_then(self):
        """20 times for 40 ms, while its work of 8 ms a step is in pieces. Where the kernel counts waits for a core, it shows that the
        rank was neither on one nor waited for one."""
        def stop_now_and_then(process):
            random.seed(7)
            for _ in range(20):
                time.sleep(random.uniform(0.02, 0.05))
                if process.poll() is not None:
                    return
                os.kill(self.pid(1), signal.SIGSTOP)
                time.sleep(0.04)
                os.kill(self.pid(1), signal.SIGCONT)

        self.play(2, "parts", "sleep", 8000, during=stop_now_and_then)
        walls = [step[0] for step in self.steps(1)]
        hit = sum(wall > statistics.median(walls) + 20e6 for wall in walls)
        if hit < 8:
            self.skip(f"only {hit} steps of the rank's work were hit")
        kind = "blocked" if counts_waits_for_a_core() else "host_stall"
        found = self.check_root_cause(kind, [1], range(STEPS // 2), {0: STEPS, 1: FROM - 2})
        self.assertEqual(found["culprits"][0]["evidence"]["rank"], 1)


class SlowWire(Case):
    """Two hosts, whose wire gets slower while the program runs."""

    machines = hosts.Hosts()

    @classmethod
    def setUpClass(cls):
        cls.why_not = "another launcher" if launch.is_hydra(MPIRUN) else cls.machines.make() or relay.reason_why_not()

    @classmethod
    def tearDownClass(cls):
        cls.machines.remove()

    def record(self, later):
        """A message there and back a step; from a quarter of the steps on each way takes `later` times 1 ms."""
        if self.why_not:
            self.skip(self.why_not)
        job = hosts.Job(self.machines, self.directory, MPIRUN)
        addresses = [f"{SLOW_NETWORK}.{number}/24" for number in (1, 2)]
        with relay.Relay(self.machines.namespaces, addresses, (0.001, 0.001), later=later) as wire:
            def slow_down():
                self.wait_for(".working")
                wire.slow_down()
            beside = threading.Thread(target=slow_down)
            beside.start()
            settings = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off", "MEGASCOPE_OUT": self.run_directory}
            program = [WORKING, "pingpong", "sleep", str(STEPS), "5000", "-1", "1", "0", self.truth]
            result = job.start(2, program, settings, SLOW_NETWORK)
            beside.join()
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_slow_link_is_named(self):
        self.record(later=6)
        self.check_root_cause("slow_link", [0, 1], range(FROM - 3, FROM + 8), {0: STEPS, 1: STEPS})

    def test_a_wire_that_stays_as_it_is_is_not(self):
        self.record(later=1)
        self.check_no_rank(2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + os.environ.get("FAULTS_TEST_ONLY", "").split(), verbosity=2)
