"""What clients of MegatronApp and of the tensor tracer say, and what they are to get of tests/live/compat_feed.cpp's run."""

import json
import math
import re
import subprocess
import time

from live_client import Client

# As synthetic_transformer.h has them.
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
    return [cell for part, count in ((q, third), (k, third), (v, pixels - 2 * third)) if count for cell in tiles(part, count, reduce, True)]


def flat(lists):
    return [x for one in lists for x in one]


def is_close(got, expected):
    return len(got) == len(expected) and all((a is None and b is None) or (a is not None and b is not None and abs(a - b) <= 1e-4 + 1e-5 * abs(b))
                                             for a, b in zip(got, expected))


class Feed:
    """tests/live/compat_feed.cpp at work."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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
        client.hello = client.text("hello")
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
