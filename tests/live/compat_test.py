#!/usr/bin/python3
"""The compatibility endpoint in training, spoken to in the words of the references' clients.

  compat_test.py live_compat_feed
"""

import math
import os
import struct
import sys
import tempfile
import time
import unittest

from compat_client import (CONTEXT, HEADS, HIDDEN, HIDDEN_STATES, INNER, INPUT, LAYERS, MLP1, MLP2, NOT_PERTURBED, QKV, SCORES, SEQUENCES, STEPS, TOKENS,
                           Feed, deviation, element, flags, flat, is_close, mean, pixels, reference_client, rows, strip, tiles, updates)
from live_client import TEXT, Closed, http

FEED = ""


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="compat_test_")
        cls.run_ = Feed(FEED, "--rate", 100, "--steps", 1000000, "--vectors", cls.directory)

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
        """The step is not reported."""
        self.assertTrue(any(is_close(update["result"], expected_of_step(step)) for step in STEPS), str(update)[:500])

    def test_megatron_apps_page_in_training(self):
        for qkv, mlp in ((96, 64), (12, 8), (14, 5), (3, 1), (2, 4096)):
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
            for qkv in (12, 14):  # tiles of whole heads, and such as cut them
                client = self.begun(visualization_flags=flags("QKV_mat_mul", "MLP1_mat_mul"), compressor_config=pixels(qkv, 8, method, method))
                found = updates(client, [(kind, layer + 1) for kind in (1, 4) for layer in range(LAYERS)])
                self.check(found[1, 3], lambda step: flat(strip(row, qkv, reduce) for row in rows(step, QKV, 2, 80)))
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
        with open(os.path.join(self.directory, name), "wb") as file:
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

    def test_vectors_come_from_one_directory(self):
        def ask(path):
            return self.refusal(**self.tracer(HiddenStates=("Projection", {"vector_path": path})))

        outside = tempfile.NamedTemporaryFile(suffix=".npy")
        os.symlink(outside.name, os.path.join(self.directory, "link.npy"))
        os.mkfifo(os.path.join(self.directory, "pipe.npy"))
        for path in ("missing.npy", "../" + os.path.basename(outside.name), outside.name, "/etc/passwd", "link.npy", ".", "a/../../x", "x\0y", "~/x"):
            self.assertIn("is not a file in the directory", ask(path), path)
        self.assertIn("is not a regular file", ask("pipe.npy"))
        good = [[1.0] * HIDDEN] * LAYERS
        for problem, arguments in {"little-endian": {"descr": ">f4"}, "order": {"order": "True"}, "match its shape": {"shape": (LAYERS + 1, HIDDEN)},
                                   "not a .npy": {"head": b"PK\x03\x04\x00\x00\x01\x00"}, "shape": {"shape": (0, HIDDEN)}}.items():
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

    def test_messages_that_nest_deeply_are_refused(self):
        client = reference_client(self.run_)
        for field in (b"visualization_flags", b"compressor_config", b"disturbance_configs"):
            client.send_frame(TEXT, b'{"type":"run_training_step","' + field + b'":{"a":' + b"[" * 32000 + b"]" * 32000 + b"}}")
            self.assertIn("nested deeper", client.receive()["message"])
        client.close()

    def test_a_refused_method_says_what_is_missing_and_what_there_is(self):
        def ask(method):
            return self.refusal(visualization_flags=flags("MLP1_mat_mul"), compressor_config=pixels(12, 8, mlp_method=method))

        for method in ("", "   "):
            self.assertIn("it is empty; write a reduction (mean, max, min, std, norm, sum, absmax and rms)", ask(method))
        for method in ("median", "data.median(dim=-1)", "torch.median(data, dim=-1)"):
            said = ask(method)
            self.assertIn("unknown reduction `median`; there are mean, max, min, std, norm, sum, absmax and rms", said, method)
        self.assertIn("a reduction", ask("   "))
        self.assertIn("`rms` cannot be part of a chain", ask("data.rms(dim=-1)"))

    def test_the_page_is_told_why_its_pca_tab_stays_empty(self):
        client = reference_client(self.run_)
        client.say(type="run_training_step", visualization_flags=flags("MLP1_mat_mul", "MLP2_Plot"), compressor_config=pixels(12, 8))
        self.assertIn("PCA is not supported", client.text("error")["message"])
        client.text("start")
        self.assertEqual(client.receive()["update_type"], 4)
        client.close()

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

    def test_a_client_that_does_not_read_disturbs_no_other(self):
        stalled = reference_client(self.run_, receive_buffer=4096)
        every = flags("QKV_mat_mul", "RawAttentionScore_mat_mul", "ContextLayer_mat_mul", "MLP1_mat_mul", "MLP2_mat_mul")
        stalled.say(type="run_training_step", visualization_flags=every, compressor_config=pixels(96, 64))
        client = self.begun(visualization_flags=flags("MLP1_mat_mul"), compressor_config=pixels(96, 8))
        for _ in range(300):
            self.assertEqual(client.receive()["update_type"], 4)
        client.close()
        stalled.close()

    def test_another_request_replaces_the_former(self):
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


class End(unittest.TestCase):
    def test_clients_are_closed_as_after_a_good_run(self):
        with Feed(FEED, "--rate", 100, "--steps", 100) as run:
            clients = [reference_client(run) for _ in range(2)]
            clients[0].say(type="run_training_step", disturbance_configs=NOT_PERTURBED, visualization_flags=flags("MLP1_mat_mul"), compressor_config=pixels(8, 8))
            self.assertEqual([client.closed() for client in clients], [1000, 1000])


if __name__ == "__main__":
    FEED = sys.argv.pop(1)
    unittest.main(warnings="ignore")
