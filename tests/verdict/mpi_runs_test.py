"""Simulated MPI programs: that they end, what a fault changes, and what the traces hold. The first argument is bench/verdict."""

import filecmp
import os
import struct
import sys
import tempfile
import unittest

sys.path[:0] = [sys.argv[1], os.path.join(sys.argv[1], "mpi_runs"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import cases  # pylint: disable=wrong-import-position
import faults  # pylint: disable=wrong-import-position
import native_trace  # pylint: disable=wrong-import-position
import programs  # pylint: disable=wrong-import-position
import run_truth  # pylint: disable=wrong-import-position
import runs  # pylint: disable=wrong-import-position
import reported_skips  # pylint: disable=wrong-import-position


def job_of(shape, seed=3, **fields):
    job = cases.Job(shape, seed)
    for name, value in fields.items():
        setattr(job, name, value)
    return job


def quiet(shape):
    """Without noise that a fault could hide in."""
    return job_of(shape, work_sigma=0.0, link_sigma=0.0, node_sigma=0.0, drift=0.0, jitter_share=0.0)


class Programs(unittest.TestCase):
    def test_every_rank_of_every_program_ends(self):
        for shape in programs.SHAPES:
            for seed in range(1, 9):
                job = job_of(shape, seed)
                simulations = runs.Simulations(job)
                self.assertGreater(simulations.simulate([])[0], 0)
                self.assertTrue(8 <= job.world <= 64)
                self.assertTrue(all(rank.calls and len(rank.steps) == job.steps for rank in simulations.world.ranks), shape)

    def test_a_slow_rank_costs_what_it_computes_longer(self):
        job = quiet("data_parallel")
        simulations = runs.Simulations(job)
        healthy_ns, work_ns, _ = simulations.run([])
        slow_ns, _, _ = simulations.run([faults.SlowRanks([2], 0.1, faults.When(job.steps))])
        self.assertAlmostEqual((slow_ns - healthy_ns) / (0.1 * work_ns[2]), 1, delta=0.1)

    def test_a_slow_rank_in_every_third_step_costs_a_third(self):
        job = quiet("transpose")
        simulations = runs.Simulations(job)
        healthy_ns = simulations.run([])[0]
        costs = [simulations.run([faults.SlowRanks([2], 0.1, faults.When(job.steps, every=every))])[0] - healthy_ns for every in (1, 3)]
        self.assertAlmostEqual(costs[1] / costs[0], 1 / 3, delta=0.03)

    def test_pauses_last_as_long_as_their_share_says(self):
        when = faults.When(40)
        pauses = faults.Pauses(1, 0.1, 1e6, 5, when, 7)
        self.assertTrue(4 <= len(pauses.pauses) <= 20)
        total = sum(pauses.pause_ns(1, step) for step in range(40) for _ in range(5))
        self.assertAlmostEqual(total / (0.1 * 40 * 1e6), 1, delta=0.35)
        self.assertEqual(pauses.pause_ns(2, min(pauses.pauses)), 0.0)

    def test_a_slow_link_slows_messages_of_its_two_ranks_only(self):
        link = faults.SlowLink((1, 2), 5, 0.1, faults.When(10, 3))
        self.assertEqual([link.link_factor(*pair) for pair in ((1, 2, 3), (2, 1, 9), (1, 2, 2), (0, 1, 5))], [5, 5, 1.0, 1.0])


class Steps(unittest.TestCase):
    def test_calls_lie_within_their_step_on_the_clock_of_their_rank(self):
        job = job_of("pipeline", skews=[-250.0] * 16)
        simulations = runs.Simulations(job)
        job.start = lambda: None       # keeps the skews
        simulations.simulate([])
        for rank in simulations.world.ranks[:4]:
            entries = [struct.unpack_from("<Q", call)[0] >> 16 for call in rank.calls]
            for _, begin, end in rank.steps[:3]:
                inside = [entry for entry in entries if begin <= entry < end]
                self.assertGreater(len(inside), 5)
                self.assertFalse([entry for entry in entries if begin - 90 < entry < begin])
                self.assertLess(min(inside) - begin, 3e6)
            begins = [begin for _, begin, _ in rank.steps]
            first = [min(entry for entry in entries if entry >= begin) - begin for begin in begins]
            self.assertTrue(rank.rank < job.of.tp or any(99 <= wait <= 101 for wait in first), first)


class Truth(unittest.TestCase):
    def truth(self, shape, fault, healthy_ns, time_ns, **fields):
        return run_truth.ground_truth(job_of(shape, **fields), [fault] if fault else [], healthy_ns, time_ns)

    def test_silence_is_right_where_nothing_is_wrong_or_lost(self):
        fault = faults.SlowRanks([1], 0.05, faults.When(30))
        self.assertEqual(self.truth("halo", None, 1, 1)["accept"], [[]])
        negligible, lost = (self.truth("halo", fault, healthy, 1) for healthy in (0.996, 0.99))
        self.assertEqual((negligible["observable"], negligible["accept"][-1]), ("negligible", []))
        self.assertEqual((lost["observable"], lost["group"], len(lost["accept"])), ("yes", "5 %", 1))

    def test_the_master_need_not_be_named_with_its_host(self):
        accept = self.truth("master_worker", faults.SlowRanks(range(4), 0.1, faults.When(30)), 0.9, 1)["accept"]
        self.assertEqual([one["ranks"] for answer in accept for one in answer], [[0, 1, 2, 3], [1, 2, 3]])

    def test_a_stage_that_is_a_host_has_two_names(self):
        job = job_of("pipeline", seed=next(seed for seed in range(99) if cases.Job("pipeline", seed).of.names_groups))
        fault = faults.SlowRanks(job.of.stage(1), 0.1, faults.When(30))
        kinds = [answer[0]["kinds"] for answer in run_truth.ground_truth(job, [fault], 0.9, 1)["accept"]]
        self.assertIn(["stage_imbalance"], kinds)


class Cases(unittest.TestCase):
    def test_72_seeds_hold_each_program_with_each_fault(self):
        self.assertEqual(len({cases.plan_of(seed) for seed in range(5001, 5073)}), 72)
        self.assertEqual(len(cases.HELD_OUT_SEEDS) % 72 + len(cases.DEV_SEEDS) % 72, 0)
        self.assertFalse(set(cases.HELD_OUT_SEEDS) & set(cases.DEV_SEEDS))
        self.assertEqual((len(cases.FOURTH_HELD_OUT_SEEDS), len(cases.HIDDEN_SEEDS)), (720, 2880))


class Traces(unittest.TestCase):
    def test_the_same_seed_makes_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as directory:
            one, two = (os.path.join(directory, name) for name in ("one", "two"))
            world = [runs.write_seed(out, 5002)["world"] for out in (one, two)][0]
            names = [f"run/rank-{rank}.mgt" for rank in range(world)]
            paths = [runs.directory_of(out, 5002) for out in (one, two)]
            self.assertEqual(filecmp.cmpfiles(*paths, ["ground_truth.json", *names], shallow=False)[0], ["ground_truth.json", *names])

    def test_words_of_calls(self):
        words = struct.unpack("<4Q", native_trace.Call.words("MPI_Send", 1000, 1500, 0, native_trace.SEND, native_trace.message(3, 7, 80)))
        self.assertEqual(words, (1000 << 16 | 3, 500 | 1 << 48, 3 | 7 << 32, 80))
        long = struct.unpack("<5Q", native_trace.Call.words("MPI_Wait", 0, 5 * 10**9))
        self.assertEqual((long[1], long[2] & 0xFFFFFF, long[4] & (1 << 48) - 1), (0xFFFFFFFF | 0xFFFF << 32 | 8 << 56, 0x11FFE1, 5 * 10**9))

    def test_members_as_runs(self):
        self.assertEqual(struct.unpack("<I6i", native_trace.runs_of([0, 4, 8, 9])), (2, 0, 4, 3, 9, 1, 1))


if __name__ == "__main__":
    reported_skips.main()
