#!/usr/bin/python3
"""Texts that clients ask the program to generate, in the words of MegatronApp's page and in those of the live view.

  generate_test.py live_compat_feed
"""

import socket
import sys
import threading
import time
import unittest

from compat_client import HEADS, LAYERS, NOT_PERTURBED, Feed, flags, pixels, reference_client

FEED = ""


class Generating(unittest.TestCase):
    def ask(self, client, *prompts, tokens=3, **more):
        client.say(type="generate", prompts=list(prompts), tokens_to_generate=tokens, disturbance_configs=NOT_PERTURBED, compressor_config=pixels(96, 8),
                   **({"visualization_flags": flags("RawAttentionScore_mat_mul", "MLP1_mat_mul", "Result")} | more))

    def test_who_may_not(self):
        for arguments, reason in (((), "MEGASCOPE_LIVE_CONTROL=allow"), (("--polls",), "MEGASCOPE_LIVE_CONTROL=allow"), (("--control",), "megascope_request_poll")):
            with Feed(FEED, "--rate", 100, "--steps", 100000, *arguments) as run:
                time.sleep(0.3)
                client = reference_client(run)
                self.ask(client, "x")
                self.assertIn(reason, client.text("error")["message"])
                own = run.own_client()
                control = own.hello["run"]["control"]
                self.assertEqual((control["generate"], control["why"].partition(reason)[1]), (False, reason))
                own.say(type="request", id=7, request="generate", prompts=["x"])
                self.assertIn(reason, own.text("reply", id=7, reply="error")["message"])

    def test_megatron_apps_page_generates(self):
        with Feed(FEED, "--rate", 20, "--steps", 100000, "--control", "--polls") as run:
            time.sleep(0.5)
            client = reference_client(run)
            self.ask(client, "Hello", "World", tokens=4, random_seed=5, top_k=20)
            self.assertEqual(run.requests(1), [{"id": 1, "type": "generate", "prompts": ["Hello", "World"], "tokens": 4, "temperature": 1.0, "top_k": 20, "top_p": 0.0,
                                                "seed": 5}])
            start = client.receive()
            self.assertEqual((start["type"], start["num_layers"]), ("start", LAYERS))
            self.assertEqual("".join(token["token"] for token in start["prompts"]), "HelloWorld")
            results, vectors, attention = [], {}, {}
            while (message := client.receive())["type"] != "finish":
                if message["update_type"] == 6:
                    results.append(message)
                elif message["update_type"] == 4:
                    vectors.setdefault(message["layer_id"], []).append(message)
                elif message["update_type"] == 2:
                    attention.setdefault(message["layer_id"], []).append(message)
                else:
                    self.fail(message)
            self.assertEqual(message, {"type": "finish", "text": ["Helloabcd", "Worldabcd"]})
            self.assertEqual([[token["token"] for token in one["sampled"]] for one in results], [[letter] * 2 for letter in "abcd"])
            for one in results:
                self.assertEqual(len(one["result"]), 40, "20 of each prompt")
                self.assertEqual([token["id"] for token in one["result"][20:24]], [97, 98, 99, -1])
            self.assertEqual(sorted(vectors), [1, 2, 3, 4])
            for layer, messages in vectors.items():
                # What the page pushes are new tokens: all in all as many as the last view had, each once.
                self.assertEqual([len(one["result"]) for one in messages], [2 * one["args"][0] * 8 for one in messages])
                self.assertIn(sum(one["args"][0] for one in messages), (5, 6, 7, 8, 9), layer)
                queries = [one["args"][1] for one in attention[layer]]
                self.assertEqual(attention[layer][-1]["args"], [HEADS, queries[-1], sum(queries)])
                self.assertEqual(len(attention[layer][-1]["result"]), 2 * HEADS * queries[-1] * sum(queries))
            client.close()

    def test_the_page_is_told_of_missing_pca_before_the_text_is_finished(self):
        # As it takes an error for the end of what it waits for.
        with Feed(FEED, "--rate", 20, "--steps", 100000, "--control", "--polls") as run:
            time.sleep(0.5)
            client = reference_client(run)
            self.ask(client, "Hello", tokens=2, visualization_flags=flags("MLP1_mat_mul", "Result", "MLP2_Plot"))
            seen = []
            while not seen or seen[-1]["type"] != "finish":
                seen.append(client.receive())
            self.assertEqual([message["type"] for message in seen].count("error"), 1)
            self.assertIn("PCA", seen[-2]["message"])
            client.close()

    def test_a_text_that_outgrows_what_the_program_looks_at(self):
        # Rows and keys count from the text's begin: the page, which labels them so, would show them at other tokens.
        with Feed(FEED, "--rate", 20, "--steps", 100000, "--control", "--polls", "--window", 10) as run:
            time.sleep(0.5)
            client = reference_client(run)
            self.ask(client, "Hello", "World", tokens=12)
            rows, keys = {}, {}
            while (message := client.receive())["type"] != "finish":
                if message.get("update_type") == 4:
                    rows[message["layer_id"]] = rows.get(message["layer_id"], 0) + message["args"][0]
                elif message.get("update_type") == 2:
                    heads, queries, wide = message["args"]
                    keys.setdefault(message["layer_id"], []).append(wide)
                    self.assertEqual((heads, len(message["result"])), (HEADS, 2 * HEADS * queries * wide))
                    self.assertEqual(message["result"][:max(0, wide - 10)], [0] * max(0, wide - 10), "not looked at")
            self.assertEqual(rows, {layer: 16 for layer in range(1, 5)}, "the token that is generated last is not looked at")
            for wide in keys.values():
                self.assertEqual((wide, wide[-1]), (sorted(set(wide)), 16))
            client.close()

    def test_the_programs_error_and_the_queue(self):
        with Feed(FEED, "--rate", 20, "--steps", 100000, "--control", "--polls") as run:
            own = run.own_client()
            self.assertTrue(own.text("control")["generate"])
            self.assertEqual(run.own_client().hello["run"]["control"], {"generate": True})
            first, gone, third = (reference_client(run) for _ in range(3))
            self.ask(first, "a", tokens=30)
            first.text("start")
            self.ask(gone, "b")
            self.ask(third, "fail")
            own.say(type="request", id="mine", request="generate", prompts=["own"], tokens=2, temperature=0, top_p=0.5, seed=1)
            self.assertEqual(own.text("reply", id="mine", reply="waiting")["before"], 3)
            gone.close()
            self.assertEqual(first.text("finish")["text"][0][:3], "aab")
            self.assertEqual(third.text("error")["message"], "it was told to")
            self.assertEqual(own.text("reply", id="mine", reply="start")["prompts"][0][2]["token"], "n")
            self.assertEqual(own.text("reply", id="mine", reply="token")["sampled"][0]["token"], "a")
            self.assertEqual(own.text("reply", id="mine", reply="finish")["text"], ["ownab"])
            asked = run.requests(3)
            self.assertEqual([one["prompts"] for one in asked], [["a"], ["fail"], ["own"]], "who is gone is not asked for")
            self.assertEqual((asked[2]["temperature"], asked[2]["top_p"], asked[2]["seed"]), (0.0, 0.5, 1))
            for wrong in ({"prompts": []}, {"prompts": [""]}, {"prompts": "x"}, {"prompts": ["x"], "tokens": 0}, {"prompts": ["x"], "temperature": -1},
                          {"prompts": ["x"], "top_p": 2}, {"prompts": ["x"] * 129}, {"prompts": ["x" * 5000]}, {"prompts": ["x"], "seed": 0.5}):
                own.say(type="request", request="generate", **wrong)
                self.assertIn(own.wait_for(lambda m: m["type"] in ("error", "reply"))["type"], ("error", "reply"), wrong)
            own.say(type="request", request="stop", prompts=["x"])
            self.assertIn("stop", own.text("error")["text"])
            first.close()
            third.close()

    def test_no_more_than_eight_wait(self):
        with Feed(FEED, "--rate", 20, "--steps", 100000, "--control", "--polls") as run:
            own = run.own_client()
            own.text("control")
            for i in range(10):
                own.say(type="request", id=i, request="generate", prompts=["x"], tokens=1000)
            for i in range(9):
                own.text("reply", id=i, reply="waiting")
            self.assertIn("8 requests are queued", own.text("reply", id=9, reply="error")["message"])
            other = reference_client(run)
            self.ask(other, "y")
            self.assertIn("8 requests are queued", other.text("error")["message"])
            own.close()  # and with it all of its
            time.sleep(0.5)
            self.ask(other, "y")
            other.say(type="ping")
            self.assertEqual(other.text("pong"), {"type": "pong"})

    def test_who_needs_no_token_keeps_out_no_client_that_has_it(self):
        with Feed(FEED, "--rate", 20, "--steps", 100000, "--control", "--polls") as run:
            silent = [socket.create_connection(("127.0.0.1", run.port)) for _ in range(60)]
            own, others = run.own_client(), [reference_client(run) for _ in range(6)]
            own.text("control")
            for other in others:
                self.ask(other, "x", tokens=1000)
                other.say(type="ping")
                if other is not others[5]:
                    other.text("pong")  # in this order
            self.assertIn("4 requests of unauthenticated clients", others[5].text("error")["message"])
            own.say(type="request", id=1, request="generate", prompts=["x"])
            self.assertEqual(own.text("reply", id=1)["reply"], "waiting")
            for one in silent:
                one.close()

    def test_the_end_of_the_run(self):
        with Feed(FEED, "--rate", 50, "--steps", 100, "--control", "--polls") as run:
            time.sleep(0.3)
            trained, generated = reference_client(run), reference_client(run)
            trained.say(type="run_training_step", visualization_flags=flags("MLP1_mat_mul"), compressor_config=pixels(96, 8))
            trained.text("start")
            self.ask(generated, "x", tokens=100000)
            generated.text("start")
            codes = []
            reading = threading.Thread(target=lambda: codes.append(trained.closed()))  # meanwhile: who reads nothing is given up
            reading.start()
            self.assertEqual(generated.text("error")["message"], "The run has ended.")
            self.assertEqual(generated.closed(), 1000)
            reading.join()
            self.assertEqual(codes, [1000])

    def test_a_port_that_is_taken(self):
        with Feed(FEED, "--rate", 50, "--steps", 100000) as first, Feed(FEED, "--rate", 50, "--steps", 100000, "--compat", first.port) as second:
            self.assertIn(f"port {first.port} of 127.0.0.1 is in use", second.said)
            second.own_client().close()  # the live view is served all the same


if __name__ == "__main__":
    FEED = sys.argv.pop(1)
    unittest.main(warnings="ignore")
