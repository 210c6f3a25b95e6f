"""Programs that show one known problem of MPI programs each, and programs that look like it and must not be advised.

  advice_programs_test.py MEGASCOPE PATTERNS MPIRUN...
"""

import json
import os
import shutil
import sys
import unittest

MEGASCOPE, PATTERNS, *MPIRUN = sys.argv[1:]
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools"))
import recorded_case  # noqa: E402

WORLD = "`MPI_COMM_WORLD`"
TRIES = 3
TRAINING = ("stage", "replica", "pipeline", "training", "micro")


class Case(recorded_case.Case):
    megascope, mpirun = MEGASCOPE, MPIRUN

    def setUp(self):
        super().setUp()
        self.scratch = self.make_directory("scratch")

    def analysis_of(self, mode, *words, **variables):
        shutil.rmtree(self.run_directory, ignore_errors=True)
        self.record_ranks(4, PATTERNS, mode, self.path("file"), **{"MEGASCOPE_SCRATCH": self.scratch, **variables})
        return self.call(MEGASCOPE, "analyze", self.run_directory, *words, code=(0, 1))

    def advice(self, mode, **variables):
        return {finding["rule"]: finding for finding in json.loads(self.analysis_of(mode, "--json", **variables))["advice"]}

    def shown(self, mode, rule, **variables):
        """The rule's finding in a program that shows it. A busy machine may hide its share in that of other ranks: then it is run again."""
        for _ in range(TRIES):
            found = self.advice(mode, **variables)
            if rule in found:
                break
        self.assertIn(rule, found)
        self.assertTrue(found[rule]["text"] and found[rule]["remedy"])
        return found[rule]

    def not_shown(self, mode, *rules):
        found = self.advice(mode)
        for rule in rules:
            self.assertNotIn(rule, found)


class Shown(Case):
    def test_small_messages(self):
        finding = self.shown("small_messages", "small_messages")
        self.assertEqual((finding["count"], finding["ranks"], finding["function"], finding["communicator"]), (80000, [0, 1], "MPI_Send", WORLD))
        self.assertGreater(finding["share"], 0.1)
        self.assertIn("80 k messages of 8 B", finding["text"])

    def test_gather_and_bcast(self):
        finding = self.shown("gather_bcast", "gather_bcast")
        self.assertEqual((finding["count"], finding["ranks"], finding["communicator"]), (500, [0, 1, 2, 3], WORLD))
        self.assertIn("MPI_Allreduce", finding["remedy"])

    def test_gather_and_bcast_and_barriers(self):
        self.assertEqual(self.shown("gather_bcast_barriers", "gather_bcast")["count"], 500)
        self.assertEqual(self.shown("gather_bcast_barriers", "barriers")["count"], 499)  # after the last one the program ends

    def test_broadcasts_of_one_root(self):
        finding = self.shown("bcast_runs", "bcast_runs")
        self.assertEqual((finding["count"], finding["function"]), (1600, "MPI_Bcast"))

    def test_barriers(self):
        self.assertEqual(self.shown("barriers", "barriers")["count"], 998)

    def test_tiny_collectives(self):
        finding = self.shown("tiny_collectives", "tiny_collectives")
        self.assertEqual((finding["count"], finding["function"]), (2000, "MPI_Allreduce"))
        self.assertIn("8 B", finding["text"])
        self.assertIn("array", finding["remedy"])

    def test_all_to_all(self):
        self.assertEqual(self.shown("all_to_all", "all_to_all")["count"], 200)

    def test_polling(self):
        finding = self.shown("polling", "polling")
        self.assertEqual((finding["ranks"], finding["function"]), ([1], "MPI_Iprobe"))
        self.assertGreater(finding["share"], 0.2)

    def test_a_rank_that_writes_while_others_wait(self):
        finding = self.shown("serial_files", "serial_files")
        self.assertEqual((finding["ranks"], finding["function"], finding["count"]), ([0], "MPI_File_write_at", 200))

    def test_a_rank_that_is_blocked_while_others_wait(self):
        finding = self.shown("blocked_rank", "serial_files")
        self.assertEqual((finding["ranks"], finding["function"]), ([0], None))
        self.assertIn("blocked in the operating system", finding["text"])

    def test_unexpected_messages(self):
        finding = self.shown("unexpected_messages", "unexpected_messages")
        self.assertEqual((finding["ranks"], finding["share"]), ([0], None))
        self.assertGreater(finding["count"], 3000)

    def test_a_late_sender(self):
        finding = self.shown("late_sender", "late_sender")
        self.assertEqual(finding["ranks"], [0])
        self.assertIn("(late sender)", finding["text"])
        self.assertGreater(finding["share"], 0.2)
        for word in TRAINING:
            self.assertNotIn(word, (finding["text"] + finding["remedy"]).lower())

    def test_a_ring_that_is_sequential(self):
        self.assertEqual(self.shown("sequential_ring", "sequential_ring")["ranks"], [1, 2, 3])
        self.assertEqual(self.shown("sequential_sends", "sequential_ring")["ranks"], [0, 1, 2])

    def test_work_that_follows_rank_numbers(self):
        finding = self.shown("rank_imbalance", "rank_imbalance")
        self.assertEqual(finding["ranks"], [3])
        self.assertIn("grows with the rank's number", finding["text"])

    def test_call_sites_are_named(self):
        finding = self.shown("small_messages", "small_messages", MEGASCOPE_CALLSITE="1")
        self.assertIn("patterns", finding["site"])
        self.assertIn(" at ", finding["text"])

    def test_text_has_a_section(self):
        text = self.analysis_of("small_messages")
        self.assertRegex(text, r"\nAdvice\n  - 80 k messages of 8 B")


class NotShown(Case):
    def test_few_messages_and_one_a_step(self):
        self.not_shown("not_small_messages", "small_messages", "unexpected_messages")

    def test_a_root_that_works_in_between(self):
        self.not_shown("not_gather_bcast", "gather_bcast")

    def test_one_broadcast_and_large_ones(self):
        self.not_shown("not_bcast_runs", "bcast_runs")

    def test_barriers_for_files_and_clocks(self):
        self.not_shown("not_barriers", "barriers")

    def test_tiny_collectives_that_wait_for_a_late_rank(self):
        self.not_shown("not_tiny_collectives", "tiny_collectives", "barriers")

    def test_neighbours_and_a_master(self):
        self.not_shown("not_all_to_all", "all_to_all", "sequential_ring")

    def test_polls_between_pieces_of_work(self):
        self.not_shown("not_polling", "polling")

    def test_all_write_and_one_computes(self):
        self.not_shown("not_serial_files", "serial_files")

    def test_receives_that_are_posted_first(self):
        self.not_shown("not_unexpected_messages", "unexpected_messages")

    def test_a_master_that_no_rank_waits_for(self):
        self.not_shown("not_late_sender", "late_sender")

    def test_exchanges_at_once_and_a_chain_that_works(self):
        self.not_shown("not_sequential_ring", "sequential_ring")

    def test_one_rank_in_the_middle_is_slow(self):
        self.not_shown("not_rank_imbalance", "rank_imbalance")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
