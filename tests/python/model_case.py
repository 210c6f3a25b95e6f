"""The model of PyTorch that the tests watch."""

import importlib.util
import sys

from case import Case, main

# A model with what makes watching hard: layers by number, a result changed in place, a module used twice, a branch without gradient.
MODEL = """
import hashlib, io, megascope, torch
from torch import nn
from torch.nn import functional
torch.set_num_threads(1)
torch.manual_seed(1)
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.act, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(inplace=True), nn.Linear(2 * width, width)
        self.fails = False
    def forward(self, x):
        if self.fails:
            raise ValueError("as told")
        return x + self.down(self.act(self.up(self.norm(x))))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.h, self.head = nn.Embedding(16, 8), nn.ModuleList(Block(8) for _ in range(2)), nn.Linear(8, 16)
    def forward(self, tokens, wrap=lambda block, x: block(x)):
        x = self.token(tokens)
        for block in self.h:
            x = wrap(block, x)
        return self.head(x)
def loss_of(net, **more):
    tokens = torch.arange(20).reshape(4, 5) % 16
    return functional.cross_entropy(net(tokens, **more).flatten(0, 1), tokens.flatten())
def digest(net):
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest()
net = Net()
optimizer = torch.optim.Adam(net.parameters())
"""


class OfModel(Case):
    """Scripts that begin with the model."""

    def record(self, script, **more):  # pylint: disable=arguments-differ
        return super().record(MODEL + self.plain(script), **more)

    def plain(self, script):
        indent = len(script) - len(script.lstrip("\n ")) - 1
        return "\n".join(line[indent:] for line in script.splitlines())


def main_with_torch():
    if importlib.util.find_spec("torch") is None:
        print("SKIPPED: there is no PyTorch")
        sys.exit(77)
    main()
