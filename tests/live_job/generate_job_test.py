#!/usr/bin/env python3
"""Clients ask a trained GPT on four ranks to generate: its answers, and what its tensors are like meanwhile.

  generate_job_test.py LIBRARY GPT LAUNCHER...
"""

import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import live_client  # noqa: E402
from compat_client import NOT_PERTURBED, flags, pixels, reference_client  # noqa: E402
from job import Job  # noqa: E402

LIBRARY, GPT, *LAUNCHER = sys.argv[1:]
LAYERS, HEADS, LENGTH, TOP = 4, 4, 32, 20
SHAPE = ["--layers", LAYERS, "--hidden", "64", "--heads", HEADS, "--sequence", LENGTH]
PROMPT, TOKENS = "the GNU ", 12
ALLOWED = {"MEGASCOPE_LIVE_CONTROL": "allow", "MEGASCOPE_LIVE_COMPAT": "0"}


def softmax(logits):
    powers = [math.exp(logit - max(logits)) for logit in logits]
    return [power / sum(powers) for power in powers]


class Asker:
    """A client that sees attention and logits while it has a text generated."""

    def __init__(self, job):
        self.client = live_client.Client(job)
        self.replies, self.attention, self.logits = [], {}, {}
        for panel, name in (("attention", "attention.scores"), ("logits", "logits")):
            self.client.say(type="subscribe", panel=panel, what="tensor", name=name, kind="actv_out", view={"type": "whole"}, encoding="f32")
            self.client.say(type="credit", panel=panel, frames=64)

    def wait_for_control(self):
        while True:
            message = self.client.receive()
            if isinstance(message, dict) and message["type"] == "control" and message["generate"]:
                return self

    def receive(self):
        message = self.client.receive()
        if isinstance(message, live_client.Frame):
            kept = self.attention if message.metadata["panel"] == "attention" else self.logits
            kept[message.metadata["step"], message.metadata["layer"]] = message
        elif message["type"] == "reply":
            self.replies.append(message)
        return message

    def ask(self, number, **what):
        self.client.say(type="request", id=number, request="generate", **what)
        while not self.replies or self.replies[-1]["reply"] not in ("finish", "error"):
            self.receive()
        return self.replies.pop() if self.replies[-1]["reply"] == "error" else self.replies[-1]

    def see_every_layer(self):
        """Views come from other ranks than answers, and later."""
        while len({layer for _, layer in self.attention}) < LAYERS:
            self.receive()

    def tokens(self):
        return [reply for reply in self.replies if reply["reply"] == "token"]


class OfATrainedGpt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="generate_job_test_")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.checkpoint = os.path.join(cls.directory.name, "trained")
        cls.run_gpt([*SHAPE, "--steps", 150, "--batch", 16, "--learning-rate", "3e-3", "--checkpoint", cls.checkpoint])

    @staticmethod
    def run_gpt(words):
        """Alone, on one rank."""
        done = subprocess.run(list(map(str, [GPT, *words])), capture_output=True, timeout=120, check=True)
        return done.stdout.decode("utf-8", "replace")

    def serving(self, settings, *words, seconds=20):
        return Job(LAUNCHER, [GPT, "--load", self.checkpoint, "--steps", 0, "--tp", 2, "--pp", 2, "--serve", seconds, *words], 4, LIBRARY, settings)

    def expect_softmax(self, reply, logits):
        """The token's probability is that of all logits of its row, and the candidates are the likeliest."""
        order = sorted(range(len(logits)), key=lambda token: -logits[token])
        self.assertEqual([one["id"] for one in reply["top"][0]], order[:TOP])
        for one in reply["top"][0]:
            self.assertAlmostEqual(one["probability"], softmax(logits)[one["id"]], places=5)
            self.assertAlmostEqual(one["logit"], logits[one["id"]], places=4)

    def expect_attention(self, frame, length):
        self.assertEqual(frame.metadata["shape"], [1, HEADS, length, length])
        for row in range(HEADS * length):
            weights = frame.values[row * length:(row + 1) * length]
            self.assertAlmostEqual(sum(weights), 1, places=4)
            self.assertEqual(weights[row % length + 1:], [0] * (length - 1 - row % length), "the future")

    def test_a_text_with_its_probabilities_and_its_attention(self):
        expected = self.run_gpt(["--load", self.checkpoint, "--steps", 0, "--generate", PROMPT, "--tokens", TOKENS]).rstrip("\n")
        with self.serving(ALLOWED, seconds=4) as job:
            asker = Asker(job.find_server()).wait_for_control()
            last = asker.ask(5, prompts=[PROMPT], tokens=TOKENS, temperature=0)
            self.assertEqual((last["id"], last["reply"], [text.rstrip("\n") for text in last["text"]]), (5, "finish", [expected]))
            asker.see_every_layer()
            start = next(reply for reply in asker.replies if reply["reply"] == "start")
            self.assertEqual(("".join(token["token"] for token in start["prompts"][0]), start["layers"]), (PROMPT, LAYERS))
            self.assertEqual("".join(reply["sampled"][0]["token"] for reply in asker.tokens()), last["text"][0][len(PROMPT):])
            steps = sorted(step for step, _ in asker.logits)
            self.assertGreaterEqual(len(steps), 1, "views of a token")
            first = steps[0] - len(asker.logits[steps[0], -1].values) // 256 + len(PROMPT)  # the step of the first token
            self.assertEqual([reply["step"] for reply in asker.tokens()], list(range(first, first + TOKENS)))
            for step in steps:
                length = len(PROMPT) + step - first
                self.assertEqual(asker.logits[step, -1].metadata["shape"], [1, length, 256])
                self.expect_softmax(asker.tokens()[step - first], asker.logits[step, -1].values[-256:])
                for layer in range(LAYERS):
                    if (step, layer) in asker.attention:
                        self.expect_attention(asker.attention[step, layer], length)
            self.assertEqual(job.end(), 0, job.errors)

    def test_what_it_refuses(self):
        with self.serving(ALLOWED) as job:
            asker = Asker(job.find_server()).wait_for_control()
            self.assertIn("1 to 4096 tokens", asker.ask(1, prompts=["x"], tokens=1000000)["message"])
            self.assertIn("1 to 16 prompts", asker.ask(2, prompts=["x"] * 17)["message"])
            self.assertEqual(asker.ask(3, prompts=["x"], tokens=2, top_k=1)["reply"], "finish")

    def test_who_trains_only_is_not_asked(self):
        with Job(LAUNCHER, [GPT, *SHAPE, "--steps", 100000, "--tp", 2, "--pp", 2], 4, LIBRARY, ALLOWED) as job:
            self.assertIn("megascope_request_poll", Asker(job.find_server()).ask(1, prompts=["x"])["message"])

    def test_megatron_apps_page_generates(self):
        prompts = ["the GNU", "the license"]
        with self.serving(ALLOWED) as job:
            Asker(job.find_server()).wait_for_control().client.close()
            page = reference_client(job.compat_place())
            page.say(type="generate", prompts=prompts, tokens_to_generate=4, temperature=0, disturbance_configs=NOT_PERTURBED,
                     compressor_config=pixels(12, 8), visualization_flags=flags("RawAttentionScore_mat_mul", "MLP1_mat_mul", "QKV_mat_mul", "Result"))
            updates = {}
            while (message := page.receive())["type"] != "finish":
                if message["type"] == "start":
                    self.assertEqual("".join(token["token"] for token in message["prompts"]), prompts[0] + prompts[1][:len(prompts[0])])
                    continue
                self.assertEqual(message["type"], "update", message)
                updates.setdefault(message["update_type"], []).append(message)
            self.assertEqual({len(text) for text in message["text"]}, {len(prompts[1]) + 4})
            self.assertTrue(all(text.startswith(prompt) for text, prompt in zip(message["text"], prompts)), message)
            self.assertEqual(len(updates[6]), len(prompts[1]) - len(prompts[0]) + 4)
            for result in updates[6]:
                self.assertEqual((len(result["sampled"]), len(result["result"])), (2, 2 * TOP))
            for kind, width in ((1, 12), (2, None), (4, 8)):
                self.assertEqual({update["layer_id"] for update in updates[kind]}, {1, 2, 3, 4}, kind)
                for update in updates[kind]:
                    rows = update["args"][0] if width else HEADS * update["args"][1]
                    self.assertEqual(len(update["result"]), 2 * rows * (width or update["args"][2]), (kind, update["args"]))

    def generated_of(self, page, prompt, tokens):
        """Rows of QKV and MLP1 of each layer, and the newest attention."""
        page.say(type="generate", prompts=[prompt], tokens_to_generate=tokens, disturbance_configs=NOT_PERTURBED, compressor_config=pixels(12, 8),
                 visualization_flags=flags("RawAttentionScore_mat_mul", "MLP1_mat_mul", "QKV_mat_mul", "Result"))
        rows, attention = {}, {}
        while (message := page.receive())["type"] != "finish":
            self.assertIn(message["type"], ("start", "update"), message)
            if message.get("update_type") == 2:
                attention[message["layer_id"]] = message
            elif message.get("update_type") in (1, 4):
                width = 12 if message["update_type"] == 1 else 8
                of_layer = rows.setdefault((message["update_type"], message["layer_id"]), [])
                of_layer += [message["result"][at:at + width] for at in range(0, len(message["result"]), width)]
        return rows, attention

    def test_each_token_has_its_row(self):
        """Of a text of few tokens, whose last views come behind the answer that it is whole, and of one longer than the model looks at."""
        every = {(kind, layer) for kind in (1, 4) for layer in range(1, LAYERS + 1)}
        with self.serving(ALLOWED) as job:
            Asker(job.find_server()).wait_for_control().client.close()
            page = reference_client(job.compat_place())
            self.generated_of(page, "names are told", 2)
            for prompt, tokens in (("the GNU", 1), ("the GNU", 2), ("the license" * 4, 3)):
                rows, attention = self.generated_of(page, prompt, tokens)
                whole = len(prompt) + tokens - 1
                self.assertEqual({key: len(some) for key, some in rows.items()}, dict.fromkeys(every, whole), prompt)
                unseen = max(0, len(prompt) - LENGTH)
                for some in rows.values():
                    self.assertEqual([row[0] is None for row in some], [True] * unseen + [False] * (whole - unseen))
                self.assertEqual({layer: one["args"][2] for layer, one in attention.items()}, dict.fromkeys(range(1, LAYERS + 1), whole))
                outside = max(0, whole - LENGTH)
                for one in attention.values():
                    last = one["result"][-whole:]
                    self.assertEqual(last[:outside], [0] * outside)
                    self.assertAlmostEqual(sum(last), 1, places=4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore", verbosity=2)
