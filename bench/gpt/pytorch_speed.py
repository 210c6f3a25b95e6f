#!/usr/bin/env python3
"""Time of a training step of the example GPT on one core beside PyTorch's of the same model, in turns.

  bench/gpt/pytorch_speed.py BUILD_DIRECTORY [--rounds 7] [--steps 12]

Both begin from the same weights and see the same bytes; they have to agree on the losses, or there is no figure. PyTorch is
given one thread and takes the BLAS that libblas.so.3 is, which is printed: with the one that the GPT links to, both multiply alike.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / "bench"), str(REPOSITORY / "tests" / "gpt")]

import support  # noqa: E402

TEXT = "/usr/share/common-licenses/GPL-3"
WARM_UP = 2  # steps of each block that are not counted
MODELS = {
    "4 layers, 128 wide, 4 heads, 64 bytes x 16": dict(layers=4, hidden=128, heads=4, sequence=64, batch=16, micro_batches=1),
    "the same in 4 micro-batches": dict(layers=4, hidden=128, heads=4, sequence=64, batch=16, micro_batches=4),
    "4 layers, 256 wide, 8 heads, 128 bytes x 8": dict(layers=4, hidden=256, heads=8, sequence=128, batch=8, micro_batches=1),
    "6 layers, 512 wide, 8 heads, 2 of keys, RMS norm, 128 bytes x 8":
        dict(layers=6, hidden=512, heads=8, kv_heads=2, norm="rms", sequence=128, batch=8, micro_batches=1),
}


def blas():
    """The file that PyTorch multiplies with."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return sorted({os.path.realpath(line.split()[-1]) for line in maps if re.search(r"/lib\w*blas[-.\w]*\.so", line)})


def run_gpt(program, words):
    """[(loss, ms)] of its steps."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_")}
    done = subprocess.run([program, "--times", *words], capture_output=True, text=True, check=True, env=environment)
    return [(float(loss), float(ms)) for loss, ms in re.findall(r"loss (\S+) ms (\S+)", done.stdout)]


class Torch:
    """Starts anew at each block, as the program does."""

    def __init__(self, model, checkpoint, steps):
        import program
        import reference
        self.reference, self.model = reference, model
        self.fields, self.tensors = program.read_checkpoint(checkpoint)
        text = pathlib.Path(TEXT).read_bytes()
        self.batches = [reference.batch(text, 1, step, model["batch"], model["sequence"]) for step in range(steps)]

    def run(self):
        trainer = self.reference.Trainer(self.fields, self.tensors, 1e-3, 1.0, self.model["micro_batches"])
        result = []
        for inputs, targets in self.batches:
            begin = time.perf_counter()
            loss = trainer.step(inputs, targets)
            result.append((loss, (time.perf_counter() - begin) * 1e3))
        return result


def compare(program, model, rounds, steps):
    """Milliseconds a step of both, as medians over all rounds."""
    words = [word for name, value in model.items() for word in ("--" + name.replace("_", "-"), str(value))]
    with tempfile.TemporaryDirectory() as directory:
        checkpoint = os.path.join(directory, "begin")
        run_gpt(program, [*words, "--steps", "0", "--checkpoint", checkpoint])
        torch = Torch(model, checkpoint, steps)
    ours, theirs = [], []
    for _ in range(rounds):
        mine, other = run_gpt(program, [*words, "--steps", str(steps)]), torch.run()
        if any(abs(a - b) > 1e-4 * b for (a, _), (b, _) in zip(mine, other, strict=True)):
            raise SystemExit(f"the losses differ: {mine} {other}")
        ours.append(support.median([ms for _, ms in mine[WARM_UP:]]))
        theirs.append(support.median([ms for _, ms in other[WARM_UP:]]))
    ratios = sorted(b / a for a, b in zip(ours, theirs))
    return support.median(ours), support.median(theirs), support.median(ratios), ratios[0], ratios[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--only", default="", help="part of a model's name")
    arguments = parser.parse_args()
    sys.argv = ["", "", ""]  # for tests/gpt/program.py
    import torch
    torch.set_num_threads(1)
    gpt = support.Build(arguments.build).program("megascope-gpt")
    print(f"PyTorch {torch.__version__}, one thread, {' '.join(blas())}\n")
    print("| model | GPT ms | PyTorch ms | speed, median of rounds (least, most) |\n|---|---|---|---|")
    for name, model in MODELS.items():
        if arguments.only in name:
            ours, theirs, ratio, least, most = compare(gpt, model, arguments.rounds, arguments.steps)
            print(f"| {name} | {ours:.1f} | {theirs:.1f} | {ratio:.2f} ({least:.2f}, {most:.2f}) |", flush=True)


if __name__ == "__main__":
    main()
