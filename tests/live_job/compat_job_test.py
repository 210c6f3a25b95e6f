#!/usr/bin/env python3
"""What MegatronApp's page is told of a training GPT is what the live view's own protocol tells of the same steps.

  compat_job_test.py LIBRARY GPT LAUNCHER...
"""

import collections
import pathlib
import sys
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import live_client  # noqa: E402
from compat_client import flags, flat, is_close, pixels, reference_client, tiles  # noqa: E402
from job import Job  # noqa: E402

LIBRARY, GPT, *LAUNCHER = sys.argv[1:]
LAYERS, SEQUENCES, TOKENS, GROUPS, QUERIES, SIZE = 4, 2, 16, 2, 2, 8
SHAPE = ["--layers", LAYERS, "--hidden", "32", "--heads", "4", "--kv-heads", "2", "--sequence", TOKENS, "--batch", "4", "--micro-batches", "2"]
MOST_S = 60


def strips(values, count):
    """Q | K | V of each token, of a whole tensor [sequences, tokens, groups, queries + 2, size]."""
    made, width = [], GROUPS * (QUERIES + 2) * SIZE
    for token in range(0, len(values), width):
        heads = [values[token + i:token + i + SIZE] for i in range(0, width, SIZE)]
        for wanted in (range(QUERIES), (QUERIES,), (QUERIES + 1,)):
            made += tiles(flat(head for i, head in enumerate(heads) if i % (QUERIES + 2) in wanted), count // 3)
    return made


class OfATrainingGpt(unittest.TestCase):
    def watch(self, job, frames, has_enough):
        """The same tensors in the own protocol: every element of qkv, tiles of the MLP's."""
        client = live_client.Client(job)
        client.say(type="subscribe", panel="qkv", what="tensor", name="*qkv*", kind="actv_out", view={"type": "tile", "tiles": 4096}, encoding="f32")
        for name in ("mlp1", "mlp2"):
            client.say(type="subscribe", panel=name, what="tensor", name=f"*{name}*", kind="actv_out", view={"type": "tile", "tiles": 8, "keep": 2}, encoding="f32")
        for panel in ("qkv", "mlp1", "mlp2"):
            client.say(type="credit", panel=panel, frames=60)
        while not has_enough.is_set():
            message = client.receive()
            if isinstance(message, live_client.Frame):
                panel = message.metadata["panel"]
                frames[panel, message.metadata["layer"] + 1].append(message.values)
                if sum(len(of_layer) for (name, _), of_layer in frames.items() if name == panel) % 20 == 0:
                    client.say(type="credit", panel=panel, frames=20)
        client.close()

    def test_strips_of_every_layer(self):
        with Job(LAUNCHER, [GPT, *SHAPE, "--steps", 100000, "--tp", 2, "--pp", 2], 4, LIBRARY, {"MEGASCOPE_LIVE_COMPAT": "0"}) as job:
            job.find_server()
            frames, has_enough = collections.defaultdict(list), threading.Event()
            watcher = threading.Thread(target=self.watch, args=(job, frames, has_enough))
            watcher.start()
            try:
                page = reference_client(job.compat_place())
                page.say(type="run_training_step", visualization_flags=flags("QKV_mat_mul", "MLP1_mat_mul", "MLP2_mat_mul"), disturbance_configs={},
                         compressor_config=pixels(12, 8))
                self.assertEqual(page.receive(), {"type": "start", "micro_batch_size": SEQUENCES, "seq_length": TOKENS, "num_layers": LAYERS})
                updates = collections.defaultdict(list)
                until = time.monotonic() + MOST_S
                while len(updates) < 3 * LAYERS or min(len(some) for some in updates.values()) < 20:
                    update = page.receive()
                    self.assertEqual((update["type"], update["args"]), ("update", [TOKENS]))
                    updates[update["update_type"], update["layer_id"]].append(update["result"])
                    self.assertLess(time.monotonic(), until, {key: len(some) for key, some in updates.items()})
            finally:
                has_enough.set()
                watcher.join()
            page.close()
            for layer in range(1, LAYERS + 1):
                for kind, panel, expected in ((1, "qkv", lambda values: strips(values, 12)), (4, "mlp1", list), (5, "mlp2", list)):
                    known = [expected(values) for values in frames[panel, layer]]
                    same = sum(any(is_close(result, one) for one in known) for result in updates[kind, layer])
                    # Each misses steps that the other sees.
                    self.assertGreaterEqual(same, 3, f"{panel} of layer {layer}: {len(known)} frames, {len(updates[kind, layer])} updates")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")
