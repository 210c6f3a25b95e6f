"""The truth about programs with injected faults, from ledgers written by hand; the shim on a real program of two seconds.

Arguments: bench/verdict, the build directory.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

sys.path[:0] = [os.path.join(sys.argv[1], "programs"), sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import faults  # pylint: disable=wrong-import-position
import inject  # pylint: disable=wrong-import-position
import programs  # pylint: disable=wrong-import-position
import score  # pylint: disable=wrong-import-position
import reported_skips  # pylint: disable=wrong-import-position

BUILD = sys.argv[2] if len(sys.argv) > 2 else ""
HEAT2D = os.path.join(BUILD, "examples", "heat2d")


def ledgers(injected=0.0, rank=1, **changes):
    """Four ranks of ten seconds that compute five. changes: field=(value of each rank)."""
    result = [{"rank": one, "wall_s": 10.0, "cpu_s": 9.0, "run_delay_s": 0.1, "outside_cpu_s": 5.0, "injected_s": 0.0, "peer": -1}
              for one in range(4)]
    result[rank]["injected_s"] = injected
    for field, values in changes.items():
        for ledger, value in zip(result, values):
            ledger[field] = value
    return result


def planned(fault, rank=1):
    return {**faults.plan("heat2d", fault, 1), "rank": rank}


def is_right(truth, *said):
    return score.score_of([score.Said(kind, frozenset(ranks)) for kind, *ranks in said], truth["accept"]).right


class Truth(unittest.TestCase):
    def test_a_healthy_run(self):
        truth = faults.truth_of(planned("none"), ledgers(), 2, 0.0)
        self.assertEqual((truth["observable"], truth["accept"]), ("healthy", [[]]))

    def test_a_rank_that_sleeps_does_not_compute_longer(self):
        truth = faults.truth_of(planned("sleep"), ledgers(injected=2.0), 2, 0.0)
        self.assertEqual(truth["injected_share"], 0.2)
        self.assertTrue(is_right(truth, ("host_stall", 1)))
        self.assertFalse(is_right(truth, ("slow_compute", 1)))
        self.assertFalse(is_right(truth))

    def test_a_competitor_takes_the_core_of_two_ranks(self):
        truth = faults.truth_of(planned("competitor"), ledgers(run_delay_s=(0.1, 4.0, 0.1, 3.0)), 2, 4.0)
        self.assertEqual((truth["observable"], truth["injected_share"]), ("yes", 0.34))
        self.assertTrue(is_right(truth, ("preempted", 1, 3)))
        self.assertTrue(is_right(truth, ("preempted", 3)))
        self.assertFalse(is_right(truth, ("preempted", 0)))
        self.assertFalse(is_right(truth))

    def test_a_competitor_that_got_nothing_need_not_be_named(self):
        truth = faults.truth_of(planned("competitor"), ledgers(run_delay_s=(4.0, 4.0, 4.0, 4.1)), 2, 4.0)
        self.assertEqual(truth["observable"], "negligible")

    def test_a_disk_that_takes_the_cpu_computes_longer(self):
        waits = faults.truth_of(planned("disk"), ledgers(injected=2.0, injected_cpu_s=(0, 0.1, 0, 0)), 2, 0.0)
        burns = faults.truth_of(planned("disk"), ledgers(injected=2.0, injected_cpu_s=(0, 1.5, 0, 0)), 2, 0.0)
        self.assertEqual([is_right(truth, ("slow_compute", 1)) for truth in (waits, burns)], [False, True])

    def test_a_rank_that_was_preempted_may_be_named_so(self):
        truth = faults.truth_of(planned("none"), ledgers(run_delay_s=(0.1, 0.1, 1.0, 0.1)), 2, 0.0)
        self.assertTrue(is_right(truth, ("preempted", 2)))
        self.assertTrue(is_right(truth))
        self.assertFalse(is_right(truth, ("slow_compute", 2)))

    def test_a_rank_that_has_more_work_by_itself_may_be_named(self):
        truth = faults.truth_of(planned("stops"), ledgers(outside_cpu_s=(6.0, 5.0, 5.0, 5.0)), 2, 2.0)
        self.assertTrue(is_right(truth, ("host_stall", 1)))
        self.assertTrue(is_right(truth, ("host_stall", 1), ("slow_compute", 0)))
        self.assertFalse(is_right(truth, ("slow_compute", 0)))

    def test_a_wire_has_two_ends(self):
        truth = faults.truth_of(planned("wire"), ledgers(injected=3.0, peer=(-1, 2, -1, -1)), 2, 0.0)
        self.assertTrue(is_right(truth, ("slow_link", 1, 2)))
        self.assertFalse(is_right(truth, ("slow_link", 1, 3)))

    def test_a_fault_that_hardly_happened_need_not_be_named(self):
        truth = faults.truth_of(planned("disk"), ledgers(injected=0.1), 2, 0.0)
        self.assertEqual(truth["observable"], "negligible")
        self.assertTrue(is_right(truth))


@unittest.skipUnless(os.path.exists(HEAT2D), "there is no heat2d, or no build directory was named")
class Injected(unittest.TestCase):
    def run_of(self, fault):
        with tempfile.TemporaryDirectory() as directory:
            program = programs.PROGRAMS["heat2d"]
            self.addCleanup(setattr, program, "command", program.command)
            program.command = lambda work, build: [HEAT2D, "--cells", "300", "--steps", "2000" if fault == "stops" else "400"]
            shim = inject.build_shim(directory)
            plan = {**planned(fault), "share": 0.3, "us": 300 if fault == "wire" else 2000, "stop_s": 0.03}
            inject.make_run(plan, BUILD, shim, pathlib.Path(directory, "out"))
            made = pathlib.Path(directory, "out", f"heat2d-{fault}-1")
            self.assertTrue(list((made / "run").glob("*.mgt")))
            return json.loads((made / "ground_truth.json").read_text(encoding="utf-8"))

    def test_the_ledger_has_what_was_injected_into_the_one_rank(self):
        for fault in ("sleep", "disk", "lock", "wire", "imbalance"):
            with self.subTest(fault=fault):
                truth = self.run_of(fault)
                injected = [ledger["injected_s"] for ledger in truth["ledgers"]]
                self.assertGreater(injected[1], 0.0)
                self.assertEqual([injected[rank] for rank in (0, 2, 3)], [0.0] * 3)
                self.assertTrue(all(ledger["calls"] > 400 for ledger in truth["ledgers"]))

    def test_a_healthy_run_has_no_injections(self):
        self.assertEqual([ledger["injected_s"] for ledger in self.run_of("none")["ledgers"]], [0.0] * 4)

    def test_a_rank_is_stopped_and_goes_on(self):
        self.assertGreater(self.run_of("stops")["injected_share"], 0.0)


class Others(unittest.TestCase):
    def test_what_this_process_burns_is_not_of_others(self):
        others = inject.Others()
        until = others.own_s() + 0.3
        while others.own_s() < until:
            pass
        burnt = (others.busy_s() - others.begin_busy_s) / inject.CORES
        self.assertLess(others.share() * (time.monotonic() - others.begin_s), burnt)


class Missing(unittest.TestCase):
    def test_a_program_that_is_not_there_is_named(self):
        self.assertEqual(programs.PROGRAMS["heat2d"].missing("/nowhere"), "/nowhere/examples/heat2d")
        self.assertTrue(shutil.which("gcc"))


if __name__ == "__main__":
    reported_skips.main()
