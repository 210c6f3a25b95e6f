"""The corpus runner and the lint on the built command: each run is made, analysed and judged. What is said is not tested here.

Arguments: bench/verdict, megascope.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [sys.argv[1], os.path.join(sys.argv[1], "mpi_runs"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import contradiction_lint  # pylint: disable=wrong-import-position
import runs  # pylint: disable=wrong-import-position
import reported_skips  # pylint: disable=wrong-import-position

VERDICT, MEGASCOPE = sys.argv[1:3]


class Runner(unittest.TestCase):
    def run_corpus(self, *words):
        return subprocess.run([sys.executable, os.path.join(VERDICT, "corpus.py"), MEGASCOPE, *words], capture_output=True, text=True,
                              timeout=200, check=False)

    def test_a_table_and_a_line_in_the_log(self):
        with tempfile.TemporaryDirectory() as directory:
            log = os.path.join(directory, "evaluations.txt")
            result = self.run_corpus("--cases", "2,13", "--log", log)
            self.assertIn(result.returncode, (0, 1), result.stderr)
            lines = result.stdout.splitlines()
            self.assertTrue(any(line.startswith("2 slow_rank ") and " slow_compute 3 " in line for line in lines), result.stdout)
            self.assertTrue(any(line.startswith("13 healthy ") and " no rank " in line for line in lines), result.stdout)
            self.assertIn("could not be analysed: 0", result.stdout)
            with open(log, encoding="utf-8") as file:
                self.assertRegex(file.read(), r"^\d{4}-\d\d-\d\d \d\d:\d\d \S+ 2,13 \d/2 contradictions \d+\n$")

    def test_a_run_that_is_no_timeline_is_counted_as_failed(self):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "seed-0002"))
            with open(os.path.join(directory, "seed-0002", "ground_truth.json"), "w", encoding="utf-8") as file:
                file.write('{"case": "broken", "observable": "healthy", "accept": [[]]}')
            result = self.run_corpus("--cases", "2", "--corpus", directory)
            self.assertEqual(result.returncode, 1)
            self.assertIn("could not be analysed: 1", result.stdout)
            self.assertIn("megascope import ended with", result.stdout)


class MpiRuns(unittest.TestCase):
    """Simulated programs, written without the product's code: the command reads all of it, and finds the other end of everything."""

    def test_each_program_is_read_and_matched(self):
        with tempfile.TemporaryDirectory() as directory:
            for seed in range(5017, 5023):
                truth = runs.write_seed(directory, seed)
                result = subprocess.run([MEGASCOPE, "analyze", os.path.join(runs.directory_of(directory, seed), "run"), "--json"],
                                        capture_output=True, text=True, timeout=60, check=False)
                self.assertIn(result.returncode, (0, 1), result.stderr)
                answer = json.loads(result.stdout)
                matching = answer["matching"]
                self.assertEqual((matching["calls"], matching["unmatched"], len(answer["per_rank"])), (truth["calls"], 0, truth["world"]))
                self.assertGreater(matching["messages"] + matching["collectives"], 2)
                if truth["reports_steps"]:
                    self.assertEqual((answer["steps_are"], answer["steps"]), ("told", truth["steps"]))

    def test_the_corpus_runner_counts_them_by_group(self):
        result = subprocess.run([sys.executable, os.path.join(VERDICT, "corpus.py"), MEGASCOPE, "--cases", "mpi_runs:5019,mpi_runs:5045"],
                                capture_output=True, text=True, timeout=100, check=False)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertIn("could not be analysed: 0", result.stdout)
        self.assertRegex(result.stdout, r"mpi_runs 5 % +right \d/1; .* explained: median \d\.\d\d, quartile \d\.\d\d \(1\)")
        self.assertRegex(result.stdout, r"mpi_runs healthy +right \d/1; .* false positives \d/1; .* median - \(0\)")

    def test_a_loss_without_a_cause_names_the_rank_on_which_most_of_it_is_lost(self):
        with tempfile.TemporaryDirectory() as directory:
            runs.write_seed(directory, 9497)  # rank 4 pauses in four of 20 steps
            command = [MEGASCOPE, "analyze", os.path.join(runs.directory_of(directory, 9497), "run")]
            result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            answer = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60, check=False).stdout)
        self.assertEqual((answer["culprits"], answer["loss"]["mostly_in"]["kind"], answer["loss"]["mostly_in"]["name"]), ([], "rank", "rank 4"))
        self.assertIn("No cause was found for it, but most of it is lost on rank 4: without what is slow there the run would be 1.06 times as fast.",
                      " ".join(result.stdout.split()))


class Lint(unittest.TestCase):
    def test_runs_of_all_kinds_are_made_and_analysed(self):
        for seed in range(1, 31):
            self.assertEqual(contradiction_lint.check_seed(MEGASCOPE, seed)[2], "", seed)


if __name__ == "__main__":
    reported_skips.main()
