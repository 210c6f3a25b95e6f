"""The same model in PyTorch, and the batches that the program makes: written from its description, to judge it."""

import math

import numpy
import torch
import torch.nn.functional as F

MASK = 2**64 - 1


def hash64(seed, stream, index):
    """splitmix64, as in examples/gpt/kernels.h."""
    x = seed
    for part in (stream, index):
        x = (x + part + 0x9E3779B97F4A7C15) & MASK
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        x ^= x >> 31
    return x


def batch(text, seed, step, count, length):
    """inputs, targets: [count, length]."""
    starts = [hash64(seed, step, i) % (len(text) - length) for i in range(count)]
    rows = torch.tensor([list(text[start:start + length + 1]) for start in starts])
    return rows[:, :-1], rows[:, 1:]


def parameters(tensors):
    """name -> leaf, of a checkpoint's weights."""
    return {name: torch.from_numpy(numpy.array(numbers, dtype=numpy.float32).reshape(shape)).requires_grad_()
            for name, (shape, numbers) in tensors.items() if "/" not in name}


class Model:
    """fields: of the checkpoint's header; weights: name -> tensor."""

    def __init__(self, fields, weights):
        self.weights = weights
        self.layers, self.heads, self.groups = fields["layers"], fields["heads"], fields["kv_heads"]
        self.size = fields["hidden"] // fields["heads"]
        self.is_rms = fields["rms_norm"] == 1

    def norm(self, x, name):
        gain = self.weights[name + ".weight"]
        if self.is_rms:
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gain
        return F.layer_norm(x, gain.shape, gain, self.weights[name + ".bias"], eps=1e-5)

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def attention(self, x, name, mask):
        rows, length, hidden = x.shape
        queries = self.heads // self.groups
        qkv = self.linear(x, name + ".qkv").view(rows, length, self.groups, queries + 2, self.size).permute(0, 2, 3, 1, 4)
        query, key, value = qkv[:, :, :queries], qkv[:, :, queries:queries + 1], qkv[:, :, queries + 1:]
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.size) + mask
        context = torch.softmax(scores, -1) @ value
        return self.linear(context.permute(0, 3, 1, 2, 4).reshape(rows, length, hidden), name + ".output")

    def __call__(self, tokens):
        """logits: [rows, length, 256]"""
        length = tokens.shape[1]
        mask = torch.full((length, length), -math.inf).triu(1)
        x = F.embedding(tokens, self.weights["embedding.bytes"]) + self.weights["embedding.positions"][:length]
        for layer in range(self.layers):
            name = f"layers.{layer}"
            x = x + self.attention(self.norm(x, name + ".norm1"), name + ".attention", mask)
            inner = F.gelu(self.linear(self.norm(x, name + ".norm2"), name + ".mlp1"), approximate="tanh")
            x = x + self.linear(inner, name + ".mlp2")
        return self.linear(self.norm(x, "head.norm"), "head.output")


class Trainer:
    def __init__(self, fields, tensors, learning_rate, clip, micro_batches=1):
        self.weights = parameters(tensors)
        self.model = Model(fields, self.weights)
        self.adam = torch.optim.Adam(self.weights.values(), lr=learning_rate)
        self.clip = clip
        self.micro_batches = micro_batches

    def step(self, inputs, targets):
        """The mean loss."""
        self.adam.zero_grad()
        total = 0.0
        for rows, wanted in zip(inputs.chunk(self.micro_batches), targets.chunk(self.micro_batches)):
            loss = F.cross_entropy(self.model(rows).flatten(0, 1), wanted.flatten()) / self.micro_batches
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.weights.values(), self.clip)
        self.adam.step()
        return total
