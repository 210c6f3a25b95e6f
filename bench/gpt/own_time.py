#!/usr/bin/env python3
"""What recording adds to a training step of the example GPT: instructions of one rank of a small model, counted by callgrind, and
times of one and two ranks. A block of steps of each way is run beside a bare one, which of them first in turns; of each such pair the
medians' ratio, of the ratios median and quartiles. Where ranks talk at steps, also what the report gives as measurement overhead.

  bench/gpt/own_time.py BUILD_DIRECTORY [--rounds 21] [--steps 8] [--counted 6]      --counted 0: no instructions
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "bench"))

import support  # noqa: E402

WARM_UP = 2
MODEL = ["--layers", "4", "--hidden", "128", "--heads", "4", "--sequence", "64", "--batch", "16", "--micro-batches", "4"]
SMALL_MODEL = ["--layers", "2", "--hidden", "64", "--heads", "2", "--sequence", "32", "--batch", "4", "--micro-batches", "2"]
WAYS = {  # what is asked for, beside the defaults
    "recorded": {},
    "with tensor calls (MEGASCOPE_TRACE=full)": {"MEGASCOPE_TRACE": "full"},
    "with norms of all gradients (MEGASCOPE_TENSORS=*@grad_reduced)": {"MEGASCOPE_TENSORS": "*@grad_reduced"},
    "with norms of all gradients, weights and moments (MEGASCOPE_TENSORS=layers.*)": {"MEGASCOPE_TENSORS": "layers.*"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--counted", type=int, default=6)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    program = build.program("megascope-gpt")
    counted = count_all(build, program, arguments.counted) if arguments.counted else {}
    times = {ranks: time_all(build, program, ranks, arguments) for ranks in (1, 2)}
    print("| | instructions a step | 1 rank: median (quartiles) | own time by the report | 2 ranks (tp): median (quartiles) | own time by the report |")
    print("|---|---|---|---|---|---|")
    steps_ms = [f"{statistics.median(time for pairs in times[ranks].values() for time in pairs.bare_ms):.2f} ms" for ranks in times]
    print(f"| bare | {counted['bare'] / 1e6:.1f} M | {steps_ms[0]} | | {steps_ms[1]} | |" if counted else f"| bare | | {steps_ms[0]} | | {steps_ms[1]} | |")
    for way in WAYS:
        cells = [f"{100 * (counted[way] / counted['bare'] - 1):+.3f} %" if counted else ""]
        for ranks in times:
            cells += [spread(times[ranks][way].ratios), share(times[ranks][way].own_shares)]
        print(f"| {way} | {' | '.join(cells)} |")


class Pairs:
    """Of one way: for each round."""

    def __init__(self):
        self.bare_ms, self.ratios, self.own_shares = [], [], []


def spread(ratios):
    """Median, and in brackets between which values half of the rounds lie."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return f"{100 * (middle - 1):+.2f} % ({100 * (low - 1):+.2f} to {100 * (high - 1):+.2f})"


def share(shares):
    return f"{100 * statistics.median(shares):.2f} %" if shares else ""


def settings_of(build, way):
    """Nothing is written but the native trace and the report."""
    if way == "bare":
        return {}
    return {"LD_PRELOAD": str(build.library), "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off", **WAYS[way]}


def count_all(build, program, steps):
    return {way: (count(build, program, way, 2 * steps) - count(build, program, way, steps)) / steps for way in ("bare", *WAYS)}


def count(build, program, way, steps):
    with tempfile.TemporaryDirectory(prefix="megascope-bench-") as directory:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", program, *SMALL_MODEL, "--steps", str(steps)]
        done = subprocess.run(command, env=os.environ | support.mpi_environment() | settings_of(build, way), cwd=directory, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{command}: {done.stderr}")
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def time_all(build, program, ranks, arguments):
    """Way -> its Pairs."""
    times = {way: Pairs() for way in WAYS}
    for number in range(arguments.rounds):
        for way, pairs in times.items():
            order = ("bare", way) if number % 2 == 0 else (way, "bare")
            blocks = {each: time_steps(build, program, ranks, each, arguments.steps) for each in order}
            pairs.bare_ms += blocks["bare"][0]
            pairs.ratios.append(statistics.median(blocks[way][0]) / statistics.median(blocks["bare"][0]))
            talk = (blocks[way][1] or {}).get("step_talk")
            if talk:
                pairs.own_shares.append(talk["own_s"] / talk["step_s"])
    return times


def time_steps(build, program, ranks, way, steps):
    """(times of the steps in ms, the report)."""
    command = [program, "--tp", str(ranks), *MODEL, "--times", "--steps", str(steps + WARM_UP)]
    with support.Run(([], settings_of(build, way)), command, ranks) as run:
        if run.result.returncode != 0:
            raise SystemExit(f"{command}: {run.result.stderr}")
        return [float(ms) for ms in re.findall(r" ms (\S+)", run.result.stdout)][WARM_UP:], run.report()


if __name__ == "__main__":
    main()
