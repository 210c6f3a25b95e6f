#!/usr/bin/env python3
"""What recording adds to a training step of the example GPT: instructions of one rank of a small model, counted by callgrind, and
times of one and two ranks, bare and recorded in turns.

  bench/gpt/own_time.py BUILD_FOLDER [--rounds 7] [--steps 12] [--counted 6]
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
    "with norms of all gradients, weights and moments (MEGASCOPE_TENSORS=layers.*)": {"MEGASCOPE_TENSORS": "layers.*"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--counted", type=int, default=6)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    program = str(pathlib.Path(arguments.build) / "bin" / "megascope-gpt")
    counted = count_all(build, program, arguments.counted)
    times = {ranks: time_all(build, program, ranks, arguments) for ranks in (1, 2)}
    print("| | instructions a step | 1 rank, ms | 2 ranks (tp), ms |")
    print("|---|---|---|---|")
    bare = counted["bare"]
    print(f"| bare | {bare / 1e6:.1f} M | {median(times[1]['bare']):.2f} | {median(times[2]['bare']):.2f} |")
    for way in WAYS:
        cells = [f"{100 * (counted[way] - bare) / bare:+.3f} %"]
        cells += [f"{100 * (ratio(times[ranks], way) - 1):+.2f} %" for ranks in (1, 2)]
        print(f"| {way} | {' | '.join(cells)} |")


def median(blocks):
    return statistics.median(time for block in blocks for time in block)


def ratio(times, way):
    """Median over the rounds of what a round's medians are to each other."""
    return statistics.median(statistics.median(block) / statistics.median(bare) for block, bare in zip(times[way], times["bare"]))


def settings_of(build, way, folder):
    """Nothing is written but the native trace."""
    if way == "bare":
        return {}
    return {"LD_PRELOAD": str(build.library), "MEGASCOPE_OUT": f"{folder}/run", "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off", **WAYS[way]}


def run(command, settings):
    done = subprocess.run(command, env=os.environ | support.mpi_environment() | settings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr}")
    return done


def count_all(build, program, steps):
    return {way: (count(build, program, way, 2 * steps) - count(build, program, way, steps)) / steps for way in ("bare", *WAYS)}


def count(build, program, way, steps):
    with tempfile.TemporaryDirectory(prefix="megascope-bench-") as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, *SMALL_MODEL, "--steps", str(steps)]
        done = run(command, settings_of(build, way, folder))
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def time_all(build, program, ranks, arguments):
    """Way -> a list of its steps' times for each round."""
    times = {way: [] for way in ("bare", *WAYS)}
    for _ in range(arguments.rounds):
        for way, blocks in times.items():
            blocks.append(time_steps(build, program, ranks, way, arguments.steps))
    return times


def time_steps(build, program, ranks, way, steps):
    with tempfile.TemporaryDirectory(prefix="megascope-bench-") as folder:
        settings = settings_of(build, way, folder)
        launcher = ["mpirun.openmpi", *(word for name in settings for word in ("-x", f"{name}={settings[name]}")), "-n", str(ranks)]
        command = [*launcher, program, "--tp", str(ranks), *MODEL, "--times", "--steps", str(steps + WARM_UP)]
        done = run(command, {})
        return [float(ms) for ms in re.findall(r" ms (\S+)", done.stdout)][WARM_UP:]


if __name__ == "__main__":
    main()
