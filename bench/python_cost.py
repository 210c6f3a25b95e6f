#!/usr/bin/env python3
"""Time of what a Python program tells: with the library absent, loaded but off, and recorded, beside the call of an empty function and
PyTorch's own `record_function` in the same process; and of a watched model's modules. The least of many short batches, an empty loop
taken off; medians of interleaved rounds.

  bench/python_cost.py BUILD_DIRECTORY [--rounds 5]
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import support

PACKAGES = str(pathlib.Path(__file__).resolve().parent.parent / "python")
BATCH, BATCHES = 2000, 150
LAYERS = 50


def least_ns(loop, batch=BATCH, batches=BATCHES):
    """Of one turn of the loop."""
    times = []
    for _ in range(batches):
        begin = time.perf_counter_ns()
        loop(batch)
        times.append(time.perf_counter_ns() - begin)
    return min(times) / batch


def loops():
    import megascope  # pylint: disable=import-outside-toplevel

    def empty(count):
        for _ in range(count):
            pass

    def nothing():
        pass

    def function(count):
        for _ in range(count):
            nothing()

    def region(count):
        for _ in range(count):
            with megascope.region("forward"):
                pass

    def region_at(count):
        for _ in range(count):
            with megascope.region("forward", layer=3, micro_batch=1):
                pass

    numbers = itertools.count()

    def step(count):
        for _, number in zip(range(count), numbers):
            with megascope.step(number):
                pass

    def counter(count):
        for _ in range(count):
            megascope.counter("loss", 1.0)

    def tensor(count):
        for _ in range(count):
            megascope.tensor("weight", empty)

    return {"empty": empty, "empty function": function, "region": region, "region, layer and micro-batch": region_at, "step": step,
            "counter": counter, "tensor, not requested": tensor}


def torch_loops():
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        return {}
    import megascope  # pylint: disable=import-outside-toplevel
    torch.set_num_threads(1)

    def reference(count):
        for _ in range(count):
            with torch.autograd.profiler.record_function("forward"):
                pass

    def pass_of(model):
        x = torch.ones(1, 1)

        def both(count):
            for _ in range(count // BATCH):
                model(x).backward()
        return both

    bare, watched = (torch.nn.Sequential(*(torch.nn.Linear(1, 1) for _ in range(LAYERS))) for _ in range(2))
    bare_ns = least_ns(pass_of(bare), BATCH, 50) * BATCH / LAYERS  # before any model is watched
    megascope.watch(watched)
    watched_ns = least_ns(pass_of(watched), BATCH, 50) * BATCH / LAYERS
    return {"record_function of PyTorch": least_ns(reference, 200), "bare module": bare_ns, "watched module": watched_ns}


def measure():
    times = {name: least_ns(loop) for name, loop in loops().items()}
    times = {name: value - times["empty"] for name, value in times.items() if name != "empty"}
    torch = torch_loops()
    if torch:
        times["record_function of PyTorch"] = torch["record_function of PyTorch"]
        times["module forward and backward, watched"] = torch["watched module"] - torch["bare module"]
        times["the same module, itself"] = torch["bare module"]
    print(json.dumps(times))


def run(environment):
    directory = tempfile.mkdtemp(prefix="megascope-bench-")
    try:
        done = subprocess.run([sys.executable, __file__, "--measure"], cwd=directory, capture_output=True, text=True, check=True,
                              env=os.environ | environment | {"PYTHONPATH": PACKAGES})
        for path in pathlib.Path(directory).glob("megascope-*/report.json"):
            if any(json.loads(path.read_text())["losses"].values()):
                raise SystemExit("records were lost: this is not the cost of recording")
        return json.loads(done.stdout)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    if sys.argv[1:] == ["--measure"]:
        return measure()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    loaded = {"LD_PRELOAD": str(support.Build(arguments.build).library), "MEGASCOPE_REPORT": "off", "MEGASCOPE_EXPORT": "none",
              "MEGASCOPE_BUFFER_SIZE": "4G"}
    configurations = {"absent": {}, "loaded, off": loaded | {"MEGASCOPE_ENABLE": "0"}, "recorded": loaded}
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    for _ in range(arguments.rounds):
        for name, environment in configurations.items():
            for case, value in run(environment).items():
                times[case][name].append(value)
    print("| ns | " + " | ".join(configurations) + " |")
    print("|---|" + "---|" * len(configurations))
    for case, values in times.items():
        print(f"| {case} | " + " | ".join(f"{support.median(values[name]):.0f}" for name in configurations) + " |")
    return None


if __name__ == "__main__":
    main()
