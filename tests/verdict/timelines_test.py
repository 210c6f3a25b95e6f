"""Generated timelines beside those that another generator made (MEGASCOPE_TEST_DATA/foreign), and their ground truth.

The first argument is bench/verdict.
"""

import collections
import filecmp
import glob
import io
import json
import os
import statistics
import sys
import tarfile
import tempfile
import unittest

sys.path[:0] = [sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import foreign_timelines  # pylint: disable=wrong-import-position
import known_timelines  # pylint: disable=wrong-import-position
import timeline_cases  # pylint: disable=wrong-import-position
import timeline_faults  # pylint: disable=wrong-import-position
import timeline_files  # pylint: disable=wrong-import-position
import timeline_model  # pylint: disable=wrong-import-position
import timeline_truth  # pylint: disable=wrong-import-position
import reported_skips  # pylint: disable=wrong-import-position

EXAMPLES = sorted(glob.glob(os.path.join(os.environ.get("MEGASCOPE_TEST_DATA", ""), "foreign", "*.tar.xz")))


class Shape:
    """What of a run's rows must agree with another run of the same job: all but the noise."""

    def __init__(self):
        self.counts, self.keys, self.durations_us = collections.Counter(), {}, collections.defaultdict(list)

    def add(self, rows):
        open_rows, stage = [], rows[-1]["pp_rk"]
        for row in rows:
            where = (stage, row["name"], row["ph"])
            self.counts[where] += 1
            self.keys.setdefault(where, set()).add(tuple(row))
            if row["name"] == "iteration":
                continue
            if row["ph"] == "B":
                open_rows.append(row)
                continue
            begin = open_rows.pop()
            assert begin["name"] == row["name"] and row["rel_ts"] % 500 == 0
            self.durations_us[where].append((row["rel_ts"] - begin["rel_ts"]) / 1000)

    def median_us(self, stage, name):
        return statistics.median(self.durations_us[stage, name, "E"])


def shape_of_archive(path):
    shape, truth = Shape(), None
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                content = json.load(io.TextIOWrapper(archive.extractfile(member), "utf-8"))
                if os.path.basename(member.name) == "ground_truth.json":
                    truth = content
                else:
                    shape.add(content)
    return shape, truth


def shape_of_directory(directory):
    shape = Shape()
    for path in glob.glob(os.path.join(directory, "benchmark-*.json")):
        with open(path, encoding="utf-8") as file:
            shape.add(json.load(file))
    return shape


class BesideExamples(unittest.TestCase):
    @unittest.skipUnless(EXAMPLES, "MEGASCOPE_TEST_DATA is not set, or has no foreign/")
    def test_a_run_of_the_same_job_has_the_same_shape_and_times(self):
        for path in EXAMPLES:
            with self.subTest(path=os.path.basename(path)), tempfile.TemporaryDirectory() as directory:
                example, truth = shape_of_archive(path)
                job, faults = known_timelines.job_of_example(truth, seed=7)
                out = os.path.join(directory, "run")
                written = timeline_files.write_directory(job, timeline_model.simulate(job, faults), out)
                ours = shape_of_directory(out)
                self.assertEqual(ours.counts, example.counts)
                self.assertEqual(ours.keys, example.keys)
                self.assertEqual(written["rows_total"], truth["rows_total"])
                self.assertAlmostEqual(written["iteration_ns_mean"] / truth["iteration_ns_mean"], 1, delta=0.01)
                for stage, name in [(s, n) for s in (0, 1) for n in ("backward", "optimizer", "allreduce", "_reduce")]:
                    self.assertAlmostEqual(ours.median_us(stage, name) / example.median_us(stage, name), 1, delta=0.08)


class Schedule(unittest.TestCase):
    def test_no_grid_and_no_number_of_micro_batches_deadlocks(self):
        for tp, pp, dp in ((1, 1, 1), (1, 2, 1), (2, 4, 1), (1, 4, 2), (2, 1, 2), (1, 8, 1)):
            for micro_batches in (1, 2, 3, 8):
                job = timeline_model.Job(tp=tp, pp=pp, dp=dp, micro_batches=micro_batches, iterations=2, layers=1)
                self.assertGreater(timeline_model.mean_iteration_ns(job), 0)

    def test_a_slow_rank_makes_its_lane_wait_in_backward(self):
        job = timeline_model.Job(tp=2, pp=1, dp=1, micro_batches=1, iterations=1, layers=1, jitter=0.0)
        slow = timeline_faults.SlowCompute([0], 2.0, phases={"backward"})
        ((_, _, ranks),) = list(timeline_model.simulate(job, [slow]))
        for rows, _ in ranks:
            times = {phase: time for name, phase, time, _ in rows if name == "backward"}
            self.assertAlmostEqual((times["E"] - times["B"]) / 1000, 2 * 2 * (1160 + 760) + 2 * 180, delta=60)

    def test_the_same_seed_makes_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as directory:
            truths = [foreign_timelines.write_seed(os.path.join(directory, name), 2) for name in ("one", "two")]
            one, two = (foreign_timelines.directory_of(os.path.join(directory, name), 2) for name in ("one", "two"))
            names = sorted(os.listdir(one))
            self.assertEqual(len(names), truths[0]["world"] + 1)
            self.assertEqual(filecmp.cmpfiles(one, two, names, shallow=False), (names, [], []))


class Truth(unittest.TestCase):
    def truth(self, job, *faults):
        return timeline_truth.ground_truth(job, faults, timeline_model.mean_iteration_ns(job, faults))

    def job(self, **fields):
        return timeline_model.Job(**{"iterations": 4, "micro_batches": 4, "layers": 1, **fields})

    def test_silence_is_the_only_answer_for_a_healthy_run(self):
        truth = self.truth(self.job(dp=1))
        self.assertEqual((truth["observable"], truth["accept"], truth["lost_share"]), ("healthy", [[]], 0.0))

    def test_a_slow_rank_among_lanes_has_one_answer(self):
        truth = self.truth(self.job(dp=1), timeline_faults.SlowCompute([1], 1.5))
        self.assertEqual((truth["observable"], truth["accept"]), ("yes", [[{"kinds": ["slow_compute"], "ranks": [1], "part": False}]]))

    def test_lanes_that_synchronise_unseen_cannot_be_told_apart(self):
        truth = self.truth(self.job(dp=2), timeline_faults.SlowCompute([1], 1.5, phases={"backward"}))
        self.assertEqual(truth["observable"], "ambiguous")
        self.assertEqual([[one["ranks"] for one in answer] for answer in truth["accept"]], [[[1]], [[0, 1]]])

    def test_a_single_rank_of_a_stage_is_the_stage(self):
        truth = self.truth(self.job(tp=1, dp=1), timeline_faults.SlowCompute([0], 1.5))
        self.assertEqual([answer[0]["kinds"] for answer in truth["accept"]], [["slow_compute"], ["stage_imbalance"]])

    def test_what_costs_nothing_need_not_be_said(self):
        truth = self.truth(self.job(), timeline_faults.SlowLink(self.job(), 0, 0, 1.05))
        self.assertEqual(truth["observable"], "negligible")
        self.assertIn([], truth["accept"])

    def test_of_two_equally_slow_ranks_both_are_to_be_named(self):
        two = [timeline_faults.SlowCompute([rank], 1.5) for rank in (0, 2)]
        self.assertEqual([[one["ranks"] for one in answer] for answer in self.truth(self.job(jitter=0.01), *two)["accept"]], [[[0], [2]]])

    def test_a_rank_that_is_masked_by_a_slower_one_may_be_named(self):
        two = [timeline_faults.SlowCompute([0], 1.5), timeline_faults.SlowCompute([2], 1.1)]
        answers = self.truth(self.job(jitter=0.01), *two)["accept"]
        self.assertEqual([[one["ranks"] for one in answer] for answer in answers], [[[0]], [[0], [2]]])


class Cases(unittest.TestCase):
    def test_thirty_seeds_hold_five_healthy_runs_and_each_kind(self):
        for seeds in (range(1, 31), timeline_cases.HELD_OUT_SEEDS):
            cases = [timeline_cases.case_of(seed) for seed in seeds]
            self.assertEqual(sum(not faults for _, _, faults in cases), 5)
            causes = {fault.cause for _, _, faults in cases for fault in faults}
            self.assertEqual(causes, set(timeline_truth.SETS))

    def test_seeds_of_the_two_sets_are_apart(self):
        self.assertFalse(set(timeline_cases.DEV_SEEDS) & set(timeline_cases.HELD_OUT_SEEDS))

    def test_each_job_is_small_and_has_ranks_enough(self):
        for seed in range(1, 301):
            _, job, faults = timeline_cases.case_of(seed)
            self.assertTrue(4 <= job.world <= timeline_cases.MAX_RANKS)
            self.assertGreaterEqual(job.micro_batches, job.pp)
            self.assertTrue(all(0 <= rank < job.world for fault in faults for rank in fault.ranks))


if __name__ == "__main__":
    reported_skips.main()
