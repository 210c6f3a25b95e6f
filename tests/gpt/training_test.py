"""The GPT trains: it does what PyTorch does, learns with bf16 too, goes on from a checkpoint, and writes text."""

import importlib.util
import unittest

import program

TEXT = "/usr/share/common-licenses/GPL-3"
SMALL = ["--layers", 2, "--hidden", 64, "--heads", 4, "--sequence", 32, "--batch", 8, "--micro-batches", 2]
FORMS = {"layer": [], "rms": ["--norm", "rms", "--kv-heads", 2, "--ffn", 96]}


@unittest.skipUnless(importlib.util.find_spec("torch") and importlib.util.find_spec("numpy"), "there is no PyTorch (python3-torch)")
class Reference(program.Case):
    STEPS = 50

    def follow(self, words, learning_rate=1e-3, clip=1.0, seed=3, **split):
        """Trains both from the same weights on the same bytes."""
        import reference
        import torch
        torch.set_num_threads(1)
        words = [*SMALL, *words, "--seed", seed, "--learning-rate", learning_rate, "--clip", clip]
        begin, end = self.path("begin"), self.path("end")
        self.run_gpt([*words, "--steps", 0, "--checkpoint", begin])
        losses, _ = self.run_gpt([*words, "--steps", self.STEPS, "--checkpoint", end], **split)

        fields, tensors = program.read_checkpoint(begin)
        trainer = reference.Trainer(fields, tensors, learning_rate, clip)
        with open(TEXT, "rb") as file:
            text = file.read()
        expected = {step: trainer.step(*reference.batch(text, seed, step, 8, 32)) for step in range(self.STEPS)}
        self.assert_close(losses, expected, 1e-4)
        self.assertLess(losses[self.STEPS - 1], 0.75 * losses[0])
        self.compare(reference.parameters(program.read_checkpoint(end)[1]), trainer.weights, reference.parameters(tensors))

    def compare(self, ours, theirs, first):
        for name, weight in theirs.items():
            difference = (ours[name] - weight).abs().max().item()
            self.assertLess(difference, 1e-3, name)
            self.assertLess((ours[name] - weight).norm().item(), 1e-3 * max(1.0, weight.norm().item()), name)
            if not name.endswith("positions"):
                self.assertGreater((weight - first[name]).abs().max().item(), 1e-2, name)  # it went far from where it began

    def test_layer_norm_and_as_many_keys_as_queries(self):
        self.follow(FORMS["layer"])

    def test_rms_norm_and_grouped_queries(self):
        self.follow(FORMS["rms"])

    def test_split_in_every_direction(self):
        self.follow(FORMS["rms"], dp=2, tp=2, pp=2)

    def test_gradients_that_are_clipped_hard(self):
        self.follow(FORMS["layer"], clip=0.05)


class Learning(program.Case):
    def test_bf16_learns_nearly_as_float32_does(self):
        words = [*SMALL, *FORMS["layer"], "--steps", 60]
        exact, _ = self.run_gpt(words)
        rounded, _ = self.run_gpt([*words, "--dtype", "bf16"])
        self.assertNotEqual(exact, rounded)
        self.assertLess(rounded[59], 0.75 * rounded[0])
        self.assert_close(rounded, exact, 0.02)

    def test_bf16_is_split_in_every_direction(self):
        words = [*SMALL, "--steps", 10, "--dtype", "bf16"]
        whole, _ = self.run_gpt(words)
        parts, _ = self.run_gpt(words, dp=2, tp=2, pp=2)
        self.assert_close(parts, whole, 2e-3)

    def test_steps_too_small_for_bf16_add_up(self):
        """They do in the float32 weights of the optimizer; a weight of 0.02 in bf16 would not move by 3e-5."""
        words = [*SMALL, "--steps", 40, "--learning-rate"]
        resting, _ = self.run_gpt([*words, 0])
        exact, _ = self.run_gpt([*words, 3e-5])
        rounded, _ = self.run_gpt([*words, 3e-5, "--dtype", "bf16"])
        way = resting[39] - exact[39]
        self.assertGreater(way, 0.05)
        self.assertLess(abs(rounded[39] - exact[39]), 0.2 * way)


class Resume(program.Case):
    def test_losses_go_on_as_if_nothing_had_been(self):
        words = [*SMALL, *FORMS["rms"], "--seed", 5]
        whole, _ = self.run_gpt([*words, "--steps", 12])
        self.run_gpt([*words, "--steps", 6, "--checkpoint", self.path("half")])
        again, _ = self.run_gpt(["--seed", 5, "--batch", 8, "--micro-batches", 2, "--steps", 12, "--load", self.path("half")])
        self.assertEqual(again, {step: whole[step] for step in range(6, 12)})  # to the last digit

    def test_the_split_may_be_another(self):
        words = [*SMALL, *FORMS["rms"]]
        whole, _ = self.run_gpt([*words, "--steps", 10])
        self.run_gpt([*words, "--steps", 5, "--checkpoint", self.path("half")], dp=2, pp=2)
        again, _ = self.run_gpt([*words, "--steps", 10, "--load", self.path("half")], tp=2, pp=2)
        self.assert_close(again, {step: whole[step] for step in range(5, 10)}, 1e-5)

    def test_a_checkpoint_does_not_depend_on_the_split(self):
        words = [*SMALL, *FORMS["rms"], "--steps", 0, "--checkpoint"]
        self.run_gpt([*words, self.path("one")])
        self.run_gpt([*words, self.path("eight")], dp=2, tp=2, pp=2)
        with open(self.path("one"), "rb") as one, open(self.path("eight"), "rb") as eight:
            self.assertEqual(one.read(), eight.read())


class Generation(program.Case):
    def test_the_text_does_not_depend_on_the_split(self):
        words = ["--layers", 2, "--hidden", 64, "--sequence", 32, "--batch", 16, "--seed", 2]
        self.run_gpt([*words, "--steps", 250, "--learning-rate", 3e-3, "--checkpoint", self.path("trained")], dp=2)
        words = ["--load", self.path("trained"), "--steps", 0, "--generate", "the GNU ", "--tokens", 60]
        _, alone = self.run_gpt(words)
        self.assertRegex(alone, r"^the GNU [ -~\n]{50,}")
        self.assertGreater(len(set(alone)), 8)
        for split in ({"tp": 2, "pp": 2}, {"dp": 2}):
            self.assertEqual(self.run_gpt(words, **split)[1], alone, split)
        chunks = [*words, "--schedule", "interleaved", "--chunks", 2, "--micro-batches", 4]
        self.assertEqual(self.run_gpt(chunks)[1], alone)

    def test_a_temperature_makes_it_vary_with_the_seed(self):
        words = [*SMALL, "--steps", 0, "--generate", "x", "--tokens", 30, "--temperature", 1, "--seed"]
        one, same, other = (self.run_gpt([*words, seed])[1] for seed in (1, 1, 2))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)


if __name__ == "__main__":
    program.main()
