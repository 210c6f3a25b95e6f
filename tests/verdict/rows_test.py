"""Ten inputs that version 0.1 answered wrongly, or with statements that contradict each other, and what is to be said of them now.

  rows_test.py bench/verdict MEGASCOPE BUILD MPIRUN...

Timelines lie under MEGASCOPE_TEST_DATA (foreign/, straggler_ar/); programs are those of the tree, four ranks on at most two cores.
ROWS_TEST_KEEP names a directory for what was said of each.
"""

import gzip
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import unittest

sys.path[:0] = [sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import contradictions  # pylint: disable=wrong-import-position
import core_speeds  # pylint: disable=wrong-import-position
import in_directory  # pylint: disable=wrong-import-position
import known_timelines  # pylint: disable=wrong-import-position
import launch  # pylint: disable=wrong-import-position
import score  # pylint: disable=wrong-import-position
import reported_skips  # pylint: disable=wrong-import-position

VERDICT, MEGASCOPE, BUILD, *MPIRUN = (os.path.abspath(word) if number < 3 else word for number, word in enumerate(sys.argv[1:]))
DATA = os.environ.get("MEGASCOPE_TEST_DATA", "")
KEEP = os.environ.get("ROWS_TEST_KEEP")
LIBRARY = os.path.join(BUILD, "lib", "libmegascope.so")
PYTHON = "/usr/bin/python3"            # Debian's, which has Debian's mpi4py
LIMIT_S = 120
TRIES = 3                              # a busy machine disturbs programs in truth
OF_ITSELF = {"slow_compute", "slow_host", "host_stall", "stage_imbalance", "input_imbalance"}  # a rank, and not who took its core
TRAINING = re.compile(r"stage|replica|pipeline|micro-?batch|training", re.I)
DISTURBED = 0.05                       # of a rank's time that it waits for a core of its own, as others have it
UNSTEADY = 0.5                         # variation of a rank's excess from step to step, in CPU time as the ranks measured it
EQUAL = 1.1                            # CPU times of ranks with the same work, on cores and caches that they share


def one_line(text):
    return " ".join(text.split())


class Case(in_directory.InDirectory):
    limit_s = LIMIT_S

    def analyzed(self, run, name=""):
        """The Output of a run, which does not contradict itself."""
        text = subprocess.run([MEGASCOPE, "analyze", run], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        answer = subprocess.run([MEGASCOPE, "analyze", run, "--json"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertIn(text.returncode, (0, 1), text.stderr)
        output = contradictions.Output(text.stdout, json.loads(answer.stdout), text.returncode)
        self.keep(f"{self._testMethodName}{name}.txt", text.stdout)
        self.assertEqual(contradictions.contradictions(output), [], text.stdout)
        return output

    @staticmethod
    def keep(name, text):
        if KEEP:
            os.makedirs(KEEP, exist_ok=True)
            with open(os.path.join(KEEP, name), "w", encoding="utf-8") as file:
                file.write(text)

    def named(self, output):
        return sorted((cause["kind"], cause["ranks"]) for cause in output.causes)


@unittest.skipUnless(os.path.isdir(os.path.join(DATA, "foreign")), "MEGASCOPE_TEST_DATA is not set, or has no foreign/")
class Timelines(Case):
    def imported(self, source, *words):
        run = os.path.join(self.directory, "run")
        result = subprocess.run([MEGASCOPE, "import", *words, source, "--out", run], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return run

    def example(self, name):
        case = next(one for one in known_timelines.examples(DATA, self.directory) if one.name == name)
        shutil.unpack_archive(case.archive, self.directory)
        output = self.analyzed(self.imported(case.source, *case.arguments))
        judged = score.score_of(score.said_of(output.answer), case.truth["accept"])
        self.assertTrue(judged.right, output.text)
        return output

    def test_1_a_real_job_whose_last_stage_carries_more(self):
        run = self.imported(os.path.join(DATA, "foreign", "timeline-ST.json.gz"), "--from", "chrome", "--parallel", "tp=1,pp=4,dp=2")
        output = self.analyzed(run)
        self.assertEqual(self.named(output), [("stage_imbalance", [6, 7])])
        self.assertAlmostEqual(output.slowdown / 1.179, 1, delta=0.01)
        self.assertAlmostEqual(output.causes[0]["cost_fraction"], 0.18, delta=0.04)
        self.assertRegex(output.flat, r"^Pipeline stage 3 \(ranks 6(-|, )7\) has [\d.]+ times the work of the others")

    def test_2_another_real_job_with_events_of_negative_duration(self):
        source = os.path.join(DATA, "straggler_ar", "timeline-AR.json.gz")
        if not os.path.exists(source):
            self.skipTest("MEGASCOPE_TEST_DATA has no straggler_ar/")
        with gzip.open(source, "rt", encoding="utf-8") as file:
            content = json.load(file)
        events = [event for event in (content if isinstance(content, list) else content["traceEvents"]) if event.get("ph") == "X"]
        for number in range(8):
            events[(2 * number + 1) * len(events) // 16]["dur"] = -27 - 10 * number / 7
        damaged = os.path.join(self.directory, "timeline.json")
        with open(damaged, "w", encoding="utf-8") as file:
            json.dump(content, file)
        output = self.analyzed(self.imported(damaged, "--from", "chrome", "--parallel", "tp=4,pp=4,dp=4"))
        repairs = output.answer["import"]["repairs"]  # operations of the job itself overlap, which changes no time
        self.assertEqual(sum(count for kind, count in repairs.items() if kind != "overlap"), 8)
        self.assertEqual(self.named(output), [("slow_compute", [0])])
        self.assertAlmostEqual(output.slowdown / 1.973, 1, delta=0.01)

    def test_3_a_rank_that_is_a_tenth_slower(self):
        self.assertEqual(self.named(self.example("rank1_x1.1")), [("slow_compute", [1])])

    def test_4_a_healthy_job(self):
        self.assertEqual(self.named(self.example("healthy_5pct")), [])

    def test_4_a_rank_that_is_slow_in_three_iterations(self):
        output = self.example("rank5_x1.5_iterations_4_to_6")
        self.assertEqual(self.named(output), [("slow_compute", [5])])
        self.assertEqual([output.causes[0][key] for key in ("onset_step", "last_step")], [4, 6])

    def test_4_a_slow_rank_of_a_single_replica(self):
        self.assertEqual(self.named(self.example("rank1_x1.5_dp1")), [("slow_compute", [1])])

    def test_4_a_slow_link(self):
        output = self.example("link_stage0_to_1_of_replica0_x10")
        self.assertEqual({cause["kind"] for cause in output.causes}, {"slow_link"})


class Programs(Case):
    """Of programs that specify no groups nothing is said in words of training, and the report at exit has the same verdict."""

    def run_program(self, words, ranks=4, cores=2, name="", **variables):
        """Output of what a program of `ranks` ranks left; cores: how many they share."""
        run, scratch = self.run_directory, self.path("scratch")
        shutil.rmtree(run, ignore_errors=True)
        os.makedirs(scratch, exist_ok=True)
        settings = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_SCRATCH": scratch, "MEGASCOPE_EXPORT": "otf2", "MEGASCOPE_OUT": run, **variables}
        chosen = set(sorted(os.sched_getaffinity(0))[:cores])
        program = self.finished(*MPIRUN, *launch.setting(MPIRUN, **settings), "-n", ranks, *words, before=lambda: os.sched_setaffinity(0, chosen))
        self.assertEqual(program.returncode, 0, program.stderr)
        self.keep(f"{self._testMethodName}{name}.exit.txt", program.stderr)
        output = self.analyzed(run, name)
        at_exit = one_line(program.stderr).rpartition(" Verdict ")[2]
        if " shows which ranks delay the others" not in at_exit:  # else the machine was too busy for one
            self.assertTrue(at_exit.startswith(one_line(output.answer["verdict"])), [at_exit, output.answer["verdict"]])
        return output

    def pattern(self, mode, name=""):
        return self.run_program([os.path.join(BUILD, "tests", "patterns"), mode, os.path.join(self.directory, "file")], name=name)

    def working(self, mode, work_us, ranks=4, slow_rank=-1, factor=1.0, name=""):
        """Output, and CPU times of steps by rank as the ranks measured them."""
        truth = os.path.join(self.directory, "truth")
        output = self.run_program([os.path.join(BUILD, "tests", "working"), mode, "spin", "120", str(work_us), str(slow_rank), str(factor), "0", truth],
                                  ranks=ranks, name=name)
        cpu_ns = []
        for rank in range(ranks):
            with open(f"{truth}.{rank}", encoding="utf-8") as file:
                cpu_ns.append([int(line.split()[1]) for line in file])
        return output, cpu_ns

    @staticmethod
    def ratio(cpu_ns, first=0, last=None):
        """CPU time of rank 1 as a multiple of that of rank 0 in the steps from first to last."""
        steps = slice(first, None if last is None else last + 1)
        return sum(cpu_ns[1][steps]) / sum(cpu_ns[0][steps])

    @staticmethod
    def variation(cpu_ns):
        """Range of the middle three fifths of the steps' ratios of CPU time, as a share of their median; both of logarithms."""
        ratios = [math.log(one / other) for other, one in zip(*cpu_ns)]
        fifths = statistics.quantiles(ratios, n=5)
        return abs((fifths[3] - fifths[0]) / statistics.median(ratios))

    @staticmethod
    def ratio_of_active(cpu_ns, cause):
        """The same, in exactly the steps in which a cause says that rank 1 was slow."""
        return statistics.geometric_mean(cpu_ns[1][step] / cpu_ns[0][step] for first, last in cause["active"] for step in range(first, last + 1))

    @staticmethod
    def waited_for_core(output):
        """The largest share of a rank's time in which it waited for a core; 0 where that is no disturbance, or not known."""
        shares = [rank["cpu"]["core_wait_s"] / rank["cpu"]["wall_s"] for rank in output.answer["per_rank"]
                  if rank["cpu"] and rank["cpu"]["core_wait_s"] and rank["cpu"]["wall_s"]]
        return max((share for share in shares if share > DISTURBED), default=0)

    def finding(self, mode, rule):
        """The advice of a rule on a program that shows it. A busy machine may hide its share in that of other ranks."""
        for _ in range(TRIES):
            with core_speeds.Watch(sorted(os.sched_getaffinity(0))[:2]) as cores:
                output = self.pattern(mode, "." + mode)
            found = [one for one in output.answer["advice"] if one["rule"] == rule]
            slow = [cause for cause in output.causes if cause["kind"] == "slow_compute"]
            if found and (not slow or cores.ratio() < EQUAL):
                break
        self.assertTrue(found, output.text)
        self.assertNotRegex(output.text, TRAINING)
        if slow and cores.ratio() >= EQUAL:
            self.skipTest(f"the machine makes ranks slow: the same work took {cores.ratio():.2f} times the CPU time on one of the cores")
        self.assertEqual(slow, [], output.text)
        return found[0]

    def test_5_ranks_with_equal_cpu_time_that_share_cores(self):
        for mode in ("allreduce", "parts"):
            with self.subTest(mode=mode):
                for _ in range(TRIES):
                    output, steps_ns = self.working(mode, 5000, name="." + mode)
                    cpu_ns = [statistics.mean(steps) for steps in steps_ns]
                    if max(cpu_ns) < EQUAL * min(cpu_ns):
                        break
                else:
                    self.skipTest(f"the machine disturbs ranks: they computed {cpu_ns} ns a step")
                self.assertEqual([one for one in self.named(output) if one[0] in OF_ITSELF], [], output.text)
                self.assertRegex(output.flat, r"4 ranks share 2 cores .*they waited \d+ % of their time for one")

    def test_6_a_rank_with_a_third_more_work(self):
        for number in range(4):
            with self.subTest(run=number):
                for _ in range(TRIES):
                    output, cpu_ns = self.working("allreduce", 5000, ranks=2, slow_rank=1, factor=1.3, name=f".{number}")
                    truth, waited, varied = self.ratio(cpu_ns), self.waited_for_core(output), self.variation(cpu_ns)
                    if not waited and abs(truth - 1.3) < 0.06 and varied < UNSTEADY:
                        break
                else:  # before a verdict is looked at: in truth the run is not one with 1.3 times the work in each step
                    self.skipTest(f"the machine disturbs ranks: they waited {waited:.0%} of their time for a core of their own, "
                                  f"1.3 times the work took {truth:.2f} times the CPU time, and varied by {varied:.0%} of that between steps")
                first = output.causes[0]
                self.assertEqual((first["kind"], first["ranks"]), ("slow_compute", [1]), output.text)
                self.assertAlmostEqual(first["factor"], self.ratio_of_active(cpu_ns, first), delta=0.1)
                tenths = [self.ratio(cpu_ns, step, step + 11) for step in range(0, 120, 12)]
                if max(tenths) - min(tenths) < 0.15:  # the machine left both ranks alone
                    self.assertAlmostEqual(first["factor"], truth, delta=0.1)
                    self.assertGreater(first["active_steps"], 100, output.text)
                self.assertNotIn("varies from step to step", output.flat)
                self.assertNotRegex(output.text, TRAINING)

    def test_7_a_master_that_sends_while_others_wait(self):
        finding = self.finding("late_sender", "late_sender")
        self.assertEqual(finding["ranks"], [0])
        self.assertIn("(late sender)", finding["text"])

    def test_8_a_flood_of_small_messages(self):
        finding = self.finding("small_messages", "small_messages")
        self.assertEqual((finding["count"], finding["ranks"]), (80000, [0, 1]))

    def test_8_gather_and_bcast_and_barriers(self):
        self.assertEqual(self.finding("gather_bcast_barriers", "gather_bcast")["count"], 500)
        self.assertEqual(self.finding("gather_bcast_barriers", "barriers")["count"], 499)

    def test_8_one_rank_writes_a_file(self):
        self.assertEqual(self.finding("serial_files", "serial_files")["ranks"], [0])

    def test_9_function_and_kind_of_wait_of_the_gpt(self):
        gpt = os.path.join(BUILD, "bin", "megascope-gpt")
        if not os.path.exists(gpt):
            self.skipTest("the build has no megascope-gpt")
        for split in (("--pp", "2", "--dp", "2"), ("--dp", "4")):
            with self.subTest(split=split):
                output = self.run_program([gpt, "--steps", "10", *split], name="." + "".join(split).replace("-", ""))
                self.assertRegex(output.flat, r"mostly in MPI_\w+ \([^)]+\)")

    def test_10_costs_and_waits_of_a_late_sender(self):
        output = self.pattern("late_sender")
        self.assertNotRegex(output.text, TRAINING)

    def test_10_costs_and_waits_of_a_program_in_python(self):
        if subprocess.run([PYTHON, "-c", "import mpi4py, numpy"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{PYTHON} has no mpi4py")
        if launch.is_hydra(MPIRUN):
            self.skipTest("Debian's mpi4py is for Open MPI")
        script = os.path.join(VERDICT, "programs", "conjugate_gradient.py")
        output = self.run_program([PYTHON, "-m", "mpi4py", script, "600", "40"])
        self.assertNotRegex(output.text, TRAINING)


if __name__ == "__main__":
    reported_skips.main()
