"""Verdicts on timelines that the rules were not written for: generated ones of each kind of fault, and, where they are
(MEGASCOPE_TEST_DATA), real jobs and timelines of another generator, each with its answer.

  answers_test.py bench/verdict MEGASCOPE
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import reported_skips  # pylint: disable=wrong-import-position

HERE, MEGASCOPE = sys.argv[1:3]
DATA = os.environ.get("MEGASCOPE_TEST_DATA", "")
# One of each kind of fault, of the 60 by which rules may be tuned.
SEEDS = "2,6,9,17,21,24,28,45,53,56"


def judged(*words):
    """All that was said, and whether all of it was right."""
    with tempfile.TemporaryDirectory(prefix="verdict_answers.") as directory:
        result = subprocess.run([sys.executable, os.path.join(HERE, "corpus.py"), MEGASCOPE, *words, "--corpus", os.path.join(directory, "corpus"),
                                 "--log", os.path.join(directory, "log")], capture_output=True, text=True, timeout=280, check=False)
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


def analyzed(*faults, pattern=("--pattern", "halo", "--grid-x", "4", "--grid-y", "2")):
    """Text and JSON of a synthetic run of 40 steps."""
    with tempfile.TemporaryDirectory(prefix="verdict_answers.") as directory:
        run = os.path.join(directory, "run")
        words = [word for fault in faults for word in ("--fault", fault)]
        subprocess.run([MEGASCOPE, "synth", "--out", run, "--steps", "40", "--noise", "0.01", *pattern, *words], capture_output=True, check=True)
        text, answer = (subprocess.run([MEGASCOPE, "analyze", run, *as_json], capture_output=True, text=True, check=False, timeout=120).stdout
                        for as_json in ((), ("--json",)))
    return re.sub(r"\s+", " ", text), json.loads(answer)


class Sentences(unittest.TestCase):
    def test_at_most_three_causes_are_sentences_and_others_are_in_a_table(self):
        text, answer = analyzed(*(f"slow_compute@{rank},x=0.5,from={first},to={first + 7}" for rank, first in ((0, 0), (2, 8), (4, 16), (6, 24))))
        self.assertEqual(sorted(one["ranks"] for one in answer["culprits"]), [[0], [2], [4], [6]])
        self.assertEqual(len(re.findall("; it costs [0-9.]+ % of the run", text)), 3, text)
        last = answer["culprits"][3]["ranks"][0]
        self.assertRegex(text, rf"Other findings, and their share of the run [0-9.]+ % Rank {last} .{{0,20}}computes", text)

    def test_of_groups_that_were_not_specified_the_words_are_ranks(self):
        text, answer = analyzed("stage_imbalance@1,x=0.5", "slow_compute@5,x=0.5", pattern=("--pattern", "1f1b", "--tp", "2", "--pp", "2", "--dp", "2"))
        self.assertIn("stage_imbalance", [one["kind"] for one in answer["culprits"]])
        self.assertNotRegex(re.sub("`[^`]*`", "", text + answer["verdict"]), r"(?i)\b(stages?|replicas?|micro-?batch(es)?|pipelines?)\b")
        for rank in (one for one in answer["culprits"] if one["kind"] == "slow_compute"):
            self.assertEqual(rank["within"]["kind"], "stage_imbalance")
            self.assertRegex(text, r"Rank 5 .{0,20}computes [0-9.]+ times as long as the others of ranks [0-9, -]+, in addition to the extra work of ranks [0-9, -]+")


if __name__ == "__main__":
    reported_skips.main()
