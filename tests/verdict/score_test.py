"""Scores of answers against accepted ones, by hand; what the corpus runner hides and counts."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import corpus  # pylint: disable=wrong-import-position
import damage  # pylint: disable=wrong-import-position
import groups  # pylint: disable=wrong-import-position
import score  # pylint: disable=wrong-import-position
import reported_skips  # pylint: disable=wrong-import-position

RANK_1 = [{"kinds": ["slow_compute"], "ranks": [1], "part": False}]
LANES = [{"kinds": ["slow_compute", "slow_host"], "ranks": [0, 1], "part": False}]
LINK = [{"kinds": ["slow_link"], "ranks": [0, 1, 8, 9], "part": True}]


def said(*causes):
    return [score.Said(kind, frozenset(ranks)) for kind, *ranks in causes]


def fields(said_causes, *accept):
    result = score.score_of(said_causes, list(accept))
    return result.found, result.named, result.missed, result.wrong, result.right


class Against(unittest.TestCase):
    def test_silence(self):
        self.assertEqual(fields(said(), []), (0, 0, 0, 0, True))
        self.assertEqual(fields(said(), RANK_1), (0, 0, 1, 0, False))
        self.assertEqual(fields(said(("slow_compute", 1)), []), (0, 0, 0, 1, False))

    def test_rank_and_cause(self):
        self.assertEqual(fields(said(("slow_compute", 1)), RANK_1), (1, 1, 0, 0, True))
        self.assertEqual(fields(said(("host_stall", 1)), RANK_1), (1, 0, 0, 0, False))
        self.assertEqual(fields(said(("slow_compute", 2)), RANK_1), (0, 0, 1, 1, False))
        self.assertEqual(fields(said(("slow_compute", 1), ("slow_compute", 0)), RANK_1), (1, 1, 0, 1, False))

    def test_several_root_causes_may_name_one_set(self):
        self.assertEqual(fields(said(("slow_compute", 0), ("slow_compute", 1)), LANES), (1, 1, 0, 0, True))
        self.assertEqual(fields(said(("slow_compute", 0)), LANES), (0, 0, 1, 0, False))

    def test_a_part_suffices_where_the_truth_says_so(self):
        self.assertEqual(fields(said(("slow_link", 0, 8)), LINK), (1, 1, 0, 0, True))
        self.assertEqual(fields(said(("slow_link", 0, 10)), LINK), (0, 0, 1, 1, False))

    def test_the_alternative_that_fits_best_counts(self):
        self.assertEqual(fields(said(("slow_compute", 0, 1)), RANK_1, LANES), (1, 1, 0, 0, True))
        self.assertEqual(fields(said(), RANK_1, []), (0, 0, 0, 0, True))

    def test_another_kind_in_an_exact_set_is_a_wrong_accusation(self):
        preempted = [{"kinds": ["preempted"], "ranks": [0, 1], "part": True, "exact": True}]
        self.assertEqual(fields(said(("preempted", 1)), [], preempted), (1, 1, 0, 0, True))
        self.assertEqual(fields(said(("slow_compute", 1)), [], preempted), (0, 0, 0, 1, False))

    def test_two_faults(self):
        both = RANK_1 + [{"kinds": ["slow_link"], "ranks": [1, 3], "part": True}]
        self.assertEqual(fields(said(("slow_compute", 1), ("slow_link", 1, 3)), both), (2, 2, 0, 0, True))
        self.assertEqual(fields(said(("slow_link", 1, 3)), both), (1, 1, 1, 0, False))

    def test_ranks_are_written_in_ranges(self):
        self.assertEqual(score.ranks_text([8, 0, 1, 2]), "0-2,8")


class TotalsOfCases(unittest.TestCase):
    def test_lines(self):
        totals = score.Totals()
        totals.add(score.score_of(said(("slow_compute", 1)), [RANK_1]), False, 2, True)
        totals.add(score.score_of(said(("host_stall", 1), ("slow_compute", 3)), [RANK_1]), False, 0, False)
        totals.add(score.score_of(said(("slow_compute", 1)), [[]]), True, 0, False)
        totals.add(score.score_of([], [[]]), True, 0, True, has_hint=True)
        totals.add_failure()
        self.assertEqual(totals.lines(), [
            "right: 2/5 (ranks right: 2/5; could not be analysed: 1)",
            "precision 0.500 (2/4), recall 1.000 (2/2), cause 0.500 (1/2)",
            "false positives: 1/2 (no cause, but where most is lost: 1); contradictions: 2"])


class GroupsOfCases(unittest.TestCase):
    def test_the_share_of_the_loss_that_is_explained(self):
        answer = {"loss": {"total": 0.04, "explained": 0.03}}
        self.assertEqual(groups.explained_share(answer, {"observable": "yes"}), 0.75)
        self.assertEqual(groups.explained_share({"loss": {"total": 0.04, "explained": 0}}, {"observable": "ambiguous"}), 0)
        for observable in ("healthy", "negligible", "no"):
            self.assertIsNone(groups.explained_share(answer, {"observable": observable}))
        self.assertIsNone(groups.explained_share({"loss": None}, {"observable": "yes"}))
        self.assertIsNone(groups.explained_share({"loss": {"total": 0.004, "explained": 0.004}}, {"observable": "yes"}))

    def test_a_line_a_group_with_its_median(self):
        all_groups = groups.Groups()
        for name, share in (("one", 0.2), ("one", None), ("one", 1.0), ("one", 0.9), ("two", None)):
            all_groups.group(name).add_share(share)
        all_groups.group("one").totals.add(score.score_of(said(("slow_compute", 1)), [RANK_1]), False, 0, True)
        self.assertEqual(all_groups.lines(), [
            "by group:",
            "  one                  right 1/1; precision 1.000 (1/1), recall 1.000 (1/1), cause 1.000 (1/1); false positives 0/0; "
            "share of the loss explained: median 0.90, quartile 0.55 (3)",
            "  two                  right 0/0; precision - (0/0), recall - (0/0), cause - (0/0); false positives 0/0; "
            "share of the loss explained: median - (0)"])


class HeldOut(unittest.TestCase):
    def test_which_words_hold_them(self):
        self.assertEqual([corpus.holds_held_out([word]) for word in ("dev", "1-60", "held-out", "1030", "990-1001", "examples", "real")],
                         [False, False, True, True, True, False, False])
        self.assertEqual([corpus.holds_held_out([word]) for word in ("mpi_runs", "mpi_runs:dev", "mpi_runs:held-out", "mpi_runs:5999-6001")],
                         [False, False, True, True])
        self.assertEqual([corpus.holds_held_out([word]) for word in ("held-out-2", "2030", "2031", "mpi_runs:held-out-2", "mpi_runs:7720")],
                         [True, True, False, True, True])
        self.assertEqual([corpus.holds_held_out([word]) for word in ("held-out-3", "3030", "3031", "mpi_runs:held-out-3", "mpi_runs:8720-8721")],
                         [True, True, False, True, True])
        self.assertEqual([corpus.holds_held_out([word]) for word in ("held-out-4", "5030", "5031", "mpi_runs:held-out-4", "mpi_runs:10720")],
                         [True, True, False, True, True])

    def test_a_look_at_them_needs_a_log(self):
        program = os.path.join(sys.argv[1], "corpus.py")
        result = subprocess.run([sys.executable, program, "megascope", "--cases", "held-out"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("held-out runs need --log", result.stderr)

    def test_their_details_are_not_printed_and_the_look_is_counted(self):
        with tempfile.TemporaryDirectory() as directory:
            log = os.path.join(directory, "evaluations.txt")
            program = os.path.join(sys.argv[1], "corpus.py")
            for _ in range(2):  # /bin/false answers nothing: each run counts as wrong
                result = subprocess.run([sys.executable, program, "/bin/false", "--cases", "1024", "--log", log],
                                        capture_output=True, text=True, check=False)
                self.assertEqual(result.returncode, 1)
                self.assertNotIn("1024", result.stdout)
                self.assertTrue(result.stdout.startswith("right: 0/1 "), result.stdout)
            with open(log, encoding="utf-8") as file:
                lines = file.read().splitlines()
            self.assertEqual(len(lines), 2)
            self.assertRegex(lines[0], r"^\d{4}-\d\d-\d\d \d\d:\d\d \S+ 1024 0/1 contradictions 0$")


class Damage(unittest.TestCase):
    def test_a_share_of_events_and_each_kind(self):
        events = [{"ph": "X", "ts": 100.0 * index, "dur": 50.0} for index in range(10000)]
        result = damage.damaged([dict(event) for event in events], 0.01, seed=3)
        intact = {tuple(event.items()) for event in events}
        changed = [event for event in result if tuple(event.items()) not in intact]
        self.assertTrue(60 <= len(changed) + len(result) - len(events) <= 140)
        self.assertGreater(len(result), len(events))
        self.assertTrue(any("dur" not in event for event in changed))
        self.assertTrue(any(event.get("dur", 0) < 0 for event in changed))


if __name__ == "__main__":
    reported_skips.main()
