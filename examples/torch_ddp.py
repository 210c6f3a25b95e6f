#!/usr/bin/python3
"""A small GPT in PyTorch that learns a text byte by byte on several processes, with DistributedDataParallel and MegaScope annotations.

  mpirun -n 2 examples/torch_ddp.py --backend mpi4py         gradients are averaged over MPI, by a communication hook
  mpirun -n 2 examples/torch_ddp.py --backend gloo           with PyTorch's gloo; the program does not use MPI
  python3 -m torch.distributed.run --nproc_per_node=2 examples/torch_ddp.py --backend gloo

Rank 0 prints a line `step <s> loss <x>` for each step, with the mean over all ranks, and finally a hash of the parameters. If the package
megascope is not installed, use PYTHONPATH=python. docs/python.md describes the results.
"""

import argparse
import hashlib
import os
import pathlib
import sys
import tempfile

import torch
import torch.distributed
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import megascope

VOCABULARY = 256


class Attention(nn.Module):
    """Causal multi-head attention. x: [batch, time, width]."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = self.qkv(x).view(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(torch.ones(time, time).triu(1).bool(), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, time, width))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """Maps bytes [batch, time] to logits of the next bytes [batch, time, 256]."""

    def __init__(self, width: int, heads: int, layers: int, time: int) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(VOCABULARY, width), nn.Embedding(time, width)
        self.h = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1]))
        for layer in self.h:
            x = layer(x)
        return self.head(self.norm(x))


class OverMpi:
    """All communication uses MPI. DistributedDataParallel runs with a world of one process."""

    def __init__(self) -> None:
        from mpi4py import MPI  # pylint: disable=import-outside-toplevel  # only this backend uses MPI
        self.mpi, self.comm = MPI, MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)

    def parallel(self, model: nn.Module) -> DistributedDataParallel:
        for parameter in model.parameters():
            self.comm.Bcast(parameter.detach().numpy())
        wrapped = DistributedDataParallel(model)

        def average(_: object, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
            gradients = bucket.buffer()
            megascope.tensor(f"bucket {bucket.index()}", gradients, kind="grad_unreduced")
            with megascope.region("average gradients"):
                self.comm.Allreduce(self.mpi.IN_PLACE, gradients.numpy())
                done = torch.futures.Future()
                done.set_result(gradients.div_(self.size))
                return done

        wrapped.register_comm_hook(None, average)
        return wrapped

    def mean(self, value: float) -> float:
        return self.comm.allreduce(value) / self.size


class OverGloo:
    """Communication by DistributedDataParallel itself. Works with any launcher that sets rank and size."""

    LAUNCHERS = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
                 ("SLURM_PROCID", "SLURM_NTASKS"))

    def __init__(self, meeting: pathlib.Path) -> None:
        known = [names for names in self.LAUNCHERS if all(name in os.environ for name in names)]
        self.rank, self.size = (int(os.environ[name]) for name in known[0]) if known else (0, 1)
        method = "env://" if "MASTER_ADDR" in os.environ else f"file://{meeting.resolve()}"
        torch.distributed.init_process_group("gloo", init_method=method, rank=self.rank, world_size=self.size)

    def parallel(self, model: nn.Module) -> DistributedDataParallel:
        return DistributedDataParallel(model)

    def mean(self, value: float) -> float:
        total = torch.tensor(value, dtype=torch.float64)
        torch.distributed.all_reduce(total)
        return total.item() / self.size


def batches(text: bytes, rank: int, steps: int, batch: int, time: int):
    """Random parts of the text, different on each rank: (bytes, the following bytes), [batch, time] each."""
    whole = torch.tensor(list(text))
    generator = torch.Generator().manual_seed(1000 + rank)
    for _ in range(steps):
        starts = torch.randint(len(text) - time, (batch,), generator=generator)
        pieces = torch.stack([whole[start : start + time + 1] for start in starts])
        yield pieces[:, :-1], pieces[:, 1:]


def train(backend, arguments: argparse.Namespace) -> nn.Module:
    torch.manual_seed(arguments.seed)
    model = Gpt(arguments.width, heads=4, layers=arguments.layers, time=arguments.time)
    parallel = backend.parallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    megascope.watch(parallel, optimizer)
    megascope.group("dp", backend.rank, backend.size)
    text = arguments.data.read_bytes()
    for step, (tokens, following) in enumerate(batches(text, backend.rank, arguments.steps, arguments.batch, arguments.time)):
        with megascope.step(step):
            megascope.tensor("tokens", tokens, kind="input_tokens")
            loss = functional.cross_entropy(parallel(tokens).flatten(0, 1), following.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean = backend.mean(loss.item())
            megascope.counter("loss", mean, "nats")
        if backend.rank == 0:
            print(f"step {step} loss {mean:.17g}", flush=True)
    return model


def digest(model: nn.Module) -> str:
    return hashlib.sha256(b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("mpi4py", "gloo"), default="mpi4py")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "LICENSE", help="the text")
    parser.add_argument("--meeting", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / f"torch_ddp.{os.getppid()}",
                        help="file by which the processes of gloo find each other where MASTER_ADDR is not set; must not be there yet")
    for name, value in (("steps", 30), ("seed", 1), ("width", 64), ("layers", 2), ("time", 64), ("batch", 8)):
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()
    if not arguments.data.is_file() or arguments.data.stat().st_size <= arguments.time:
        parser.error(f"--data: {arguments.data} is no file with more than {arguments.time} bytes")
    torch.set_num_threads(1)
    backend = OverMpi() if arguments.backend == "mpi4py" else OverGloo(arguments.meeting)
    model = train(backend, arguments)
    if backend.rank == 0:
        print("parameters", digest(model))
    torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
