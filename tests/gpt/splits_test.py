"""However the work is split, the same numbers come out, but for the order of sums."""

import program

STEPS = 12
MODEL = ["--layers", 4, "--hidden", 64, "--heads", 4, "--sequence", 32, "--batch", 8, "--steps", STEPS]
GROUPED = [*MODEL, "--kv-heads", 2, "--norm", "rms"]


class Splits(program.Case):
    def same(self, words, splits):
        """splits: (words that only this run has, its split); the first is the one to compare with."""
        whole = self.path("whole")
        expected, _ = self.run_gpt([*words, "--checkpoint", whole])
        self.assertEqual(list(expected), list(range(STEPS)))
        for more, split in splits:
            with self.subTest(more=more, split=split):
                losses, _ = self.run_gpt([*words, *more, "--checkpoint", self.path("split")], **split)
                self.assert_close(losses, expected, 1e-5)
                self.assertLess(program.largest_difference(self.path("split"), whole), 1e-3)

    def test_each_direction(self):
        two = ["--micro-batches", 2]
        self.same(MODEL, [(two, {"dp": 2}), (two, {"tp": 2}), (two, {"pp": 2}), (two, {"dp": 2, "tp": 2, "pp": 2})])

    def test_grouped_queries(self):
        self.same(GROUPED, [(["--micro-batches", 2], {"tp": 2}), (["--micro-batches", 4], {"tp": 2, "pp": 2})])

    def test_interleaved(self):
        words = ["--schedule", "interleaved", "--micro-batches", 4]
        self.same(MODEL, [(words, {"pp": 2}), (words, {"pp": 2, "dp": 2}), ([*words, "--chunks", 4], {}),
                          (words, {"pp": 2, "tp": 2})])

    def test_more_stages_than_micro_batches_and_the_other_way_round(self):
        self.same(MODEL, [(["--micro-batches", 1], {"pp": 4}), (["--micro-batches", 8], {"pp": 2})])

    def test_messages_too_large_to_be_sent_before_they_are_asked_for(self):
        words = ["--layers", 4, "--hidden", 128, "--sequence", 64, "--batch", 16, "--steps", STEPS]
        self.same(words, [(["--schedule", "interleaved", "--micro-batches", 4], {"pp": 2}), (["--micro-batches", 4], {"pp": 4})])


if __name__ == "__main__":
    program.main()
