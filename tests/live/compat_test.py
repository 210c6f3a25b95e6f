#!/usr/bin/python3
"""The compatibility endpoint, spoken to in the words of the references' clients.

  compat_test.py live_compat_feed
"""

import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from live_client import TEXT, Client, Closed, http

FEED = ""
# As made_up_transformer.h has them.
LAYERS, SEQUENCES, TOKENS, GROUPS, QUERIES, SIZE, INNER = 4, 2, 6, 4, 2, 5, 52
HEADS, HIDDEN = GROUPS * QUERIES, GROUPS * QUERIES * SIZE
QKV, SCORES, CONTEXT, OUTPUT, MLP1, MLP2, HIDDEN_STATES, INPUT = range(8)
STEPS = range(101)  # values repeat


def element(step, family, layer, index):
    return (step * 7 + family * 31 + layer * 13 + index * 17) % 101 / 8 - 6


def mean(values):
    return sum(values) / len(values)


def deviation(values):
    return math.sqrt(sum((x - mean(values)) ** 2 for x in values) / (len(values) - 1)) if len(values) > 1 else None


def tiles(values, count, reduce=mean, wide=False):
    """Tiles of one width, the last of what is left; wide: None for those that have no element."""
    width = -(-len(values) // count)
    made = [reduce(values[i:i + width]) for i in range(0, len(values), width)]
    return made + [None] * (count - len(made) if wide else 0)


def rows(step, family, layer, width, sequences=SEQUENCES, tokens=TOKENS):
    return [[element(step, family, layer, row * width + i) for i in range(width)] for row in range(sequences * tokens)]


def strip(values, pixels, reduce=mean):
    """Q | K | V of a token, from [groups][queries + 2][size]."""
    heads = [values[i:i + SIZE] for i in range(0, len(values), SIZE)]
    group = QUERIES + 2
    q = [x for i, head in enumerate(heads) if i % group < QUERIES for x in head]
    k = [x for i, head in enumerate(heads) if i % group == QUERIES for x in head]
    v = [x for i, head in enumerate(heads) if i % group == QUERIES + 1 for x in head]
    third = pixels // 3
    return tiles(q, third, reduce, True) + tiles(k, third, reduce, True) + tiles(v, pixels - 2 * third, reduce, True)


def flat(lists):
    return [x for one in lists for x in one]


def is_close(got, expected):
    return len(got) == len(expected) and all((a is None and b is None) or (a is not None and b is not None and abs(a - b) <= 1e-4 + 1e-5 * abs(b))
                                             for a, b in zip(got, expected))


class Feed:
    """tests/live/compat_feed.cpp at work."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([FEED, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        url = self.process.stdout.readline()
        self.said = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})\n", url)
        if not found:
            raise RuntimeError(f"no URL but {url!r}: {self.process.stderr.read()}")
        self.own_port, self.token = int(found[1]), found[2]
        port = re.search(r"ws://localhost:(\d+)", self.said)
        self.port = int(port[1]) if port else None

    def own_client(self):
        class Place:
            port, token = self.own_port, self.token
        client = Client(Place)
        client.text("hello")
        return client

    def requests(self, count):
        return [json.loads(self.process.stdout.readline().removeprefix("request ")) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def reference_client(feed, **more):
    return Client(feed, target="/", **more)


def flags(*names):
    """As MegatronApp's page writes them in training."""
    every = ("QKV_mat_mul", "RawAttentionScore_mat_mul", "ContextLayer_mat_mul", "MLP1_mat_mul", "MLP2_mat_mul", "MLP2_Plot", "Result")
    return {name: "True" if name in names else "False" for name in every}


NOT_PERTURBED = {"weight_perturbation": False, "calculation_perturbation": False, "system_perturbation": False}


def pixels(qkv=96, mlp=64, qkv_method="data.mean(dim=-1)", mlp_method="data.mean(dim=-1)"):
    return {"QKV": {"pixels": qkv, "method": qkv_method}, "MLP": {"pixels": mlp, "method": mlp_method}}


def updates(client, wanted):
    """The first update of each (type, layer) of `wanted`."""
    found = {}
    until = time.monotonic() + 60
    while set(found) != set(wanted):
        message = client.receive()
        assert message["type"] == "update", message
        assert sorted(message) == ["args", "layer_id", "result", "type", "update_type"], sorted(message)
        found.setdefault((message["update_type"], message["layer_id"]), message)
        assert set(found) <= set(wanted), (set(found), message["args"])
        assert time.monotonic() < until, set(wanted) - set(found)
    return found


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="compat_test_")
        cls.run_ = Feed("--rate", 100, "--steps", 1000000, "--vectors", cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.run_.__exit__()

    def begun(self, **message):
        client = reference_client(self.run_)
        client.say(type="run_training_step", disturbance_configs=NOT_PERTURBED, **message)
        start = client.receive()
        self.assertEqual(start, {"type": "start", "micro_batch_size": SEQUENCES, "seq_length": TOKENS, "num_layers": LAYERS})
        return client

    def check(self, update, expected_of_step):
        """Of which step it is nobody says."""
        self.assertTrue(any(is_close(update["result"], expected_of_step(step)) for step in STEPS), str(update)[:500])

    def test_megatron_apps_page_in_training(self):
        for qkv, mlp in ((96, 64), (12, 8), (14, 5), (3, 1)):
            client = self.begun(visualization_flags=flags("QKV_mat_mul", "MLP1_mat_mul", "MLP2_mat_mul"), compressor_config=pixels(qkv, mlp))
            found = updates(client, [(kind, layer + 1) for kind in (1, 4, 5) for layer in range(LAYERS)])
            for (kind, layer), update in found.items():
                self.assertEqual(update["args"], [TOKENS])
                if kind == 1:
                    self.check(update, lambda step: flat(strip(row, qkv) for row in rows(step, QKV, layer - 1, 80)))
                else:
                    family, width = (MLP1, INNER) if kind == 4 else (MLP2, HIDDEN)
                    self.check(update, lambda step: flat(tiles(row, mlp, wide=True) for row in rows(step, family, layer - 1, width)))
            client.close()

    def test_methods_are_exact_where_tiles_are_ragged(self):
        cases = {"data.max(dim=-1).values": max, "data.abs().mean(dim=-1)": lambda v: mean([abs(x) for x in v]), "data.std(dim=-1)": deviation,
                 "torch.norm(data, dim=-1)": lambda v: math.sqrt(sum(x * x for x in v)), "data.sum(dim=-1)": sum, "data.min(dim=-1)[0]": min,
                 "data.mean(dim=-1).abs()": lambda v: abs(mean(v)), "rms": lambda v: math.sqrt(mean([x * x for x in v]))}
        for method, reduce in cases.items():
            client = self.begun(visualization_flags=flags("QKV_mat_mul", "MLP1_mat_mul"), compressor_config=pixels(14, 8, method, method))
            found = updates(client, [(kind, layer + 1) for kind in (1, 4) for layer in range(LAYERS)])
            self.check(found[1, 3], lambda step: flat(strip(row, 14, reduce) for row in rows(step, QKV, 2, 80)))
            self.check(found[4, 2], lambda step: flat(tiles(row, 8, reduce, True) for row in rows(step, MLP1, 1, INNER)))
            client.close()

    def test_attention_and_context_of_megatron_app(self):
        client = self.begun(visualization_flags=flags("RawAttentionScore_mat_mul", "ContextLayer_mat_mul"), compressor_config=pixels(96, 8))
        found = updates(client, [(kind, layer + 1) for kind in (2, 3) for layer in range(LAYERS)])
        self.assertEqual(found[2, 4]["args"], [HEADS, TOKENS, TOKENS])
        count = SEQUENCES * HEADS * TOKENS * TOKENS
        self.check(found[2, 4], lambda step: [element(step, SCORES, 3, i) for i in range(count)])
        self.assertEqual(found[3, 1]["args"], [TOKENS])
        self.check(found[3, 1], lambda step: flat(tiles(row, 8) for row in rows(step, CONTEXT, 0, HIDDEN)))
        client.close()

    def vector_file(self, name, values, code="f", descr="<f4", shape=None, order="False", head=b"\x93NUMPY\x01\x00"):
        shape = shape or (len(values), len(values[0]))
        header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape[0]}, {shape[1]}), }}".encode()
        header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(head + struct.pack("<H", len(header)) + header + b"".join(struct.pack(f"<{len(row)}{code}", *row) for row in values))

    def tracer(self, **configurations):
        """Flags and configuration as the tensor tracer's client writes them: what is not named is off."""
        names = ("QKV_mat_mul", "ContextLayer_mat_mul", "MLP1_mat_mul", "MLP2_mat_mul", "AttentionOutput_mat_mul", "HiddenStates", "InputTokens")
        made = {name: {"compressor_type": kind, "compressor_configs": settings} for name, (kind, settings) in configurations.items()}
        return {"visualization_flags": {name: "True" if name in configurations else "False" for name in names}, "compressor_config": made}

    def test_the_tensor_tracer(self):
        vectors = [[(layer + 1) * ((i % 3) - 1) + 0.5 for i in range(HIDDEN)] for layer in range(LAYERS)]
        tile = ("Tile", {"tiles": 8, "method": "data.mean(dim=-1)", "tiles_one_rank": 96, "method_one_rank": "data.mean(dim=-1)"})
        for name, code, descr in (("half.npy", "e", "<f2"), ("single.npy", "f", "<f4"), ("double.npy", "d", "<f8")):
            self.vector_file(name, vectors, code, descr)
            client = self.begun(**self.tracer(QKV_mat_mul=tile, MLP1_mat_mul=tile, MLP2_mat_mul=("NoOp", {}), AttentionOutput_mat_mul=("Empty", {}),
                                              HiddenStates=("Projection", {"vector_path": name}), InputTokens=("NoOp", {})))
            found = updates(client, [(kind, layer + 1) for kind in (1, 4, 5, 6, 7) for layer in range(LAYERS)] + [(8, 0)])
            self.assertEqual(found[1, 1]["args"], [SEQUENCES, TOKENS, 8])
            self.assertEqual(found[4, 2]["args"], [SEQUENCES, TOKENS, 8])
            self.check(found[4, 2], lambda step: flat(tiles(row, 8) for row in rows(step, MLP1, 1, INNER)))
            self.assertEqual(found[5, 3]["args"], [SEQUENCES, TOKENS, HIDDEN])
            self.check(found[5, 3], lambda step: flat(rows(step, MLP2, 2, HIDDEN)))
            self.assertEqual((found[6, 4]["args"], found[6, 4]["result"]), ([SEQUENCES, TOKENS, 0], []))
            self.assertEqual(found[7, 2]["args"], [SEQUENCES, TOKENS, 1])
            length = math.sqrt(sum(x * x for x in vectors[1]))
            self.check(found[7, 2], lambda step: [sum(a * b / length for a, b in zip(row, vectors[1])) for row in rows(step, HIDDEN_STATES, 1, HIDDEN)])
            self.assertEqual(found[8, 0]["args"], [2, SEQUENCES, TOKENS])
            positions = [float(i % TOKENS) for i in range(SEQUENCES * TOKENS)]
            self.check(found[8, 0], lambda step: flat(rows(step, INPUT, 0, 1)) + positions)
            client.close()

    def refusal(self, **message):
        client = reference_client(self.run_)
        client.say(type="run_training_step", **message)
        error = client.receive()
        self.assertEqual((sorted(error), error["type"]), (["message", "type"], "error"), error)
        client.say(type="ping")
        self.assertEqual(client.receive(), {"type": "pong"})
        client.close()
        return error["message"]

    def test_vectors_come_from_one_folder(self):
        ask = lambda path: self.refusal(**self.tracer(HiddenStates=("Projection", {"vector_path": path})))
        outside = tempfile.NamedTemporaryFile(suffix=".npy")
        os.symlink(outside.name, os.path.join(self.folder, "link.npy"))
        os.mkfifo(os.path.join(self.folder, "pipe.npy"))
        for path in ("missing.npy", "../" + os.path.basename(outside.name), outside.name, "/etc/passwd", "link.npy", ".", "a/../../x", "x\0y", "~/x"):
            self.assertIn("is no file in the folder", ask(path), path)
        self.assertIn("is no file", ask("pipe.npy"))
        good = [[1.0] * HIDDEN] * LAYERS
        for problem, arguments in {"little-endian": {"descr": ">f4"}, "order": {"order": "True"}, "fit": {"shape": (LAYERS + 1, HIDDEN)},
                                   "no .npy": {"head": b"PK\x03\x04\x00\x00\x01\x00"}, "shape": {"shape": (0, HIDDEN)}}.items():
            self.vector_file("bad.npy", good, **arguments)
            self.assertIn(problem, ask("bad.npy"))
        self.vector_file("short.npy", [[1.0] * (HIDDEN - 1)] * LAYERS)
        client = reference_client(self.run_)
        client.say(type="run_training_step", **self.tracer(HiddenStates=("Projection", {"vector_path": "short.npy"})))
        self.assertIn("[4, 39]", client.text("error")["message"])
        client.close()

    def test_hostile_methods_are_refused_and_named(self):
        for method in ("__import__('os').system('touch /tmp/compat_was_here')", "data.__class__.__mro__", "().__class__.__bases__[0]", "exec('1')",
                       "data.mean(dim=-1) if 1 else 2", "(" * 120 + ")" * 120, "data.numpy().tofile('/tmp/compat_was_here')", "lambda: 0", "data[0]", ""):
            for configuration in (pixels(12, 8, method), pixels(12, 8, mlp_method=method)):
                said = self.refusal(visualization_flags=flags("QKV_mat_mul", "MLP1_mat_mul"), compressor_config=configuration)
                self.assertIn("method", said, method)
        self.assertFalse(os.path.exists("/tmp/compat_was_here"))
        self.assertIn("method", self.refusal(compressor_config=pixels(12, 8, mlp_method="(" * 30000)))
        client = reference_client(self.run_)
        try:
            client.send_frame(TEXT, b'{"type":"run_training_step","compressor_config":{"QKV":{"method":"' + b"(" * 1000000 + b'"}}}')
            self.assertEqual(client.closed(), 1009)
        except ConnectionError:
            pass  # closed while it was sent

    def test_perturbations_are_refused(self):
        said = self.refusal(visualization_flags=flags("QKV_mat_mul"), disturbance_configs=dict(NOT_PERTURBED, system_perturbation=True))
        self.assertIn("system_perturbation", said)

    def test_what_is_no_message(self):
        client = reference_client(self.run_)
        for raw in (b"", b"{", b'{"type":"ping"', b"[]", b"1", b"[" * 60000, b'{"type":1}', b'{"type":"subscribe"}', b'{"type":"worker_forward","data":{}}',
                    b'{"type":"run_training_step","visualization_flags":[]}', b'{"type":"run_training_step","visualization_flags":{"QKV_mat_mul":"Maybe"}}',
                    b'{"type":"run_training_step","visualization_flags":{"Everything":"True"}}', b'{"type":"run_training_step","compressor_config":{"MLP":7}}',
                    b'{"type":"run_training_step","compressor_config":{"MLP":{"pixels":0}}}', b'{"type":"run_training_step","compressor_config":{"MLP":{"pixels":1e9}}}',
                    b'{"type":"run_training_step","compressor_config":{"MLP1_mat_mul":{"compressor_type":"Pickle"}}}',
                    b'{"type":"run_training_step","visualization_flags":{"MLP1_mat_mul":"False","MLP2_mat_mul":"False"}}', b'{"type":"generate"}'):
            client.send_frame(TEXT, raw)
            self.assertEqual(client.receive()["type"], "error", raw[:80])
        client.say(type="ping")
        self.assertEqual(client.receive(), {"type": "pong"})
        client.send_frame(2, b"\x00")
        self.assertEqual(client.closed(), 1003)

    def test_who_may(self):
        port = self.run_.port
        self.assertIn("every user of this machine can read it", self.run_.said)
        for origin in ("http://localhost:5173", "http://127.0.0.1:8080", "https://localhost", f"http://[::1]:{port}"):
            reference_client(self.run_, headers=[f"Origin: {origin}"]).close()
        for origin in ("http://evil.example", "null", "", "file://", "http://localhost.evil.example", "http://evil.example:5173", "chrome-extension://localhost"):
            with self.assertRaises(Closed) as refused:
                reference_client(self.run_, headers=[f"Origin: {origin}"])
            self.assertEqual(refused.exception.code, 403, origin)
        with self.assertRaises(Closed) as rebound:
            reference_client(self.run_, host="evil.example")
        self.assertEqual(rebound.exception.code, 403)
        self.assertEqual(http(port, "/")[0], 426)
        self.assertEqual(http(port, f"/api/v1/run?token={self.run_.token}")[0], 426)

    def test_a_client_that_does_not_read_disturbs_nobody(self):
        stalled = reference_client(self.run_, receive_buffer=4096)
        every = flags("QKV_mat_mul", "RawAttentionScore_mat_mul", "ContextLayer_mat_mul", "MLP1_mat_mul", "MLP2_mat_mul")
        stalled.say(type="run_training_step", visualization_flags=every, compressor_config=pixels(96, 64))
        client = self.begun(visualization_flags=flags("MLP1_mat_mul"), compressor_config=pixels(96, 8))
        for _ in range(300):
            self.assertEqual(client.receive()["update_type"], 4)
        client.close()
        stalled.close()

    def test_another_wish_replaces_the_former(self):
        client = self.begun(visualization_flags=flags("MLP1_mat_mul"), compressor_config=pixels(96, 8))
        client.say(type="run_training_step", visualization_flags=flags("MLP2_mat_mul"), compressor_config=pixels(96, 4))
        client.text("start")
        for _ in range(20):
            message = client.receive()
            self.assertEqual((message["update_type"], len(message["result"])), (5, SEQUENCES * TOKENS * 4))
        client.close()

    def test_clients_are_bounded(self):
        clients = [reference_client(self.run_) for _ in range(8)]
        with self.assertRaises(Closed) as refused:
            reference_client(self.run_)
        self.assertEqual(refused.exception.code, 503)
        for client in clients:
            client.close()
        time.sleep(0.5)


class Generating(unittest.TestCase):
    def ask(self, client, *prompts, tokens=3, **more):
        client.say(type="generate", prompts=list(prompts), tokens_to_generate=tokens, disturbance_configs=NOT_PERTURBED, compressor_config=pixels(96, 8),
                   **({"visualization_flags": flags("RawAttentionScore_mat_mul", "MLP1_mat_mul", "Result", "MLP2_Plot")} | more))

    def test_who_may_not(self):
        for arguments, reason in (((), "MEGASCOPE_LIVE_CONTROL=allow"), (("--polls",), "MEGASCOPE_LIVE_CONTROL=allow"), (("--control",), "megascope_request_poll")):
            with Feed("--rate", 100, "--steps", 100000, *arguments) as run:
                time.sleep(0.3)
                client = reference_client(run)
                self.ask(client, "x")
                self.assertIn(reason, client.text("error")["message"])
                own = run.own_client()
                own.say(type="request", id=7, request="generate", prompts=["x"])
                self.assertIn(reason, own.text("reply", id=7, reply="error")["message"])

    def test_megatron_apps_page_generates(self):
        with Feed("--rate", 20, "--steps", 100000, "--control", "--polls") as run:
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

    def test_the_programs_error_and_the_queue(self):
        with Feed("--rate", 20, "--steps", 100000, "--control", "--polls") as run:
            own = run.own_client()
            self.assertTrue(own.text("control")["generate"])
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
        with Feed("--rate", 20, "--steps", 100000, "--control", "--polls") as run:
            own = run.own_client()
            own.text("control")
            for i in range(10):
                own.say(type="request", id=i, request="generate", prompts=["x"], tokens=1000)
            for i in range(9):
                own.text("reply", id=i, reply="waiting")
            self.assertIn("8 requests wait", own.text("reply", id=9, reply="error")["message"])
            other = reference_client(run)
            self.ask(other, "y")
            self.assertIn("8 requests wait", other.text("error")["message"])
            own.close()  # and with it all of its
            time.sleep(0.5)
            self.ask(other, "y")
            other.say(type="ping")
            self.assertEqual(other.text("pong"), {"type": "pong"})

    def test_the_end_of_the_run(self):
        with Feed("--rate", 50, "--steps", 100, "--control", "--polls") as run:
            time.sleep(0.3)
            trained, generated = reference_client(run), reference_client(run)
            trained.say(type="run_training_step", visualization_flags=flags("MLP1_mat_mul"), compressor_config=pixels(96, 8))
            trained.text("start")
            self.ask(generated, "x", tokens=100000)
            generated.text("start")
            self.assertEqual(generated.text("error")["message"], "The run has ended.")
            self.assertEqual((generated.closed(), trained.closed()), (1000, 1000))

    def test_a_port_that_is_taken(self):
        with Feed("--rate", 50, "--steps", 100000) as first, Feed("--rate", 50, "--steps", 100000, "--compat", first.port) as second:
            self.assertIn(f"port {first.port} of 127.0.0.1 is taken", second.said)
            second.own_client().close()  # the live view is served all the same


if __name__ == "__main__":
    FEED = sys.argv.pop(1)
    unittest.main(warnings="ignore")
