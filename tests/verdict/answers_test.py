"""Verdicts on timelines that the rules were not written for: generated ones of each kind of fault, and, where they are
(MEGASCOPE_TEST_DATA), real jobs and timelines of another generator, each with its answer.

  answers_test.py bench/verdict MEGASCOPE
"""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import told_skips  # pylint: disable=wrong-import-position

HERE, MEGASCOPE = sys.argv[1:3]
DATA = os.environ.get("MEGASCOPE_TEST_DATA", "")
# One of each kind of fault, of the 60 by which rules may be tuned.
SEEDS = "2,6,9,17,21,24,28,45,53,56"


def judged(*words):
    """All that was said, and whether all of it was right."""
    with tempfile.TemporaryDirectory(prefix="verdict_answers.") as folder:
        result = subprocess.run([sys.executable, os.path.join(HERE, "corpus.py"), MEGASCOPE, *words, "--corpus", os.path.join(folder, "corpus"),
                                 "--log", os.path.join(folder, "log")], capture_output=True, text=True, timeout=280, check=False)
    return result.stdout + result.stderr


class Answers(unittest.TestCase):
    def test_generated_timelines(self):
        said = judged("--cases", SEEDS)
        self.assertIn(f"right: {SEEDS.count(',') + 1}/{SEEDS.count(',') + 1} ", said, said)
        self.assertIn("contradictions: 0", said, said)

    @unittest.skipUnless(DATA, "MEGASCOPE_TEST_DATA is not set")
    def test_timelines_of_others(self):
        said = judged("--cases", "examples,real", "--data", DATA)
        self.assertIn("right: 7/7 ", said, said)
        self.assertIn("contradictions: 0", said, said)


if __name__ == "__main__":
    told_skips.main()
