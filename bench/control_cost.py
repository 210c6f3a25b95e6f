#!/usr/bin/env python3
"""What talking at steps adds to a step: a program that shows gradients, alone, with their statistics, and with those merged over
all ranks at every step; interleaved. The report's own figure beside it. Where cores are shared with others or with more ranks than
there are, instructions (--instructions, with valgrind) tell more than times.

  bench/control_cost.py BUILD_DIRECTORY [--rounds 7] [--ranks 2 4] [--tensors 148] [--elements 0] [--work 5000] [--instructions]
"""

import argparse
import collections
import re

import support

PROGRAM = "control_steps"


def configurations(build):
    ours = {"LD_PRELOAD": str(build.library), "MEGASCOPE_REPORT": "off", "MEGASCOPE_EXPORT": "none"}
    return {"bare": {}, "recorded": ours, "statistics": ours | {"MEGASCOPE_TENSORS": "*", "MEGASCOPE_CONTROL": "off"},
            "over all ranks": ours | {"MEGASCOPE_TENSORS": "*"}}


def measure(build, environment, words, ranks):
    with support.Run(([], environment), [build.program(PROGRAM), *words], ranks) as run:
        if run.result.returncode != 0:
            raise SystemExit(run.result.stderr)
        report = run.report()
        if report is not None and report["losses"]["buffer_full"] != 0:
            raise SystemExit("records were lost: this is not the cost of recording")
        return run.rows()["step"], (report or {}).get("step_talk")


def times(build, arguments, words, ranks):
    found = collections.defaultdict(list)
    talk = None
    for _ in range(arguments.rounds):
        for name, environment in configurations(build).items():
            step, told = measure(build, environment, words, ranks)
            found[name].append(step[0])
            talk = told or talk
    bare = support.median(found["bare"])
    cells = [f"{support.median(values) / 1e3:.0f} us ({support.median(values) / bare - 1:+.2%})" for values in found.values()]
    own_us = talk["own_s"] / talk["steps"] * 1e6
    wait_us = talk["wait_s"] / talk["steps"] * 1e6
    print(f"| {ranks} | " + " | ".join(cells) + f" | {own_us:.0f} us, {wait_us:.0f} of it waiting ({talk['own_s'] / talk['step_s']:.2%}) |")


def instructions(build, arguments, ranks):
    """Of rank 0's process a step: the difference of two numbers of steps."""
    cells = []
    for environment in configurations(build).values():
        counts = []
        for steps in (50, 150):
            words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", build.program(PROGRAM), str(steps), str(arguments.tensors),
                     str(arguments.elements), "0"]
            with support.Run(([], environment), words, ranks) as run:
                counts.append(min(int(number) for number in re.findall(r"Collected : (\d+)", run.result.stderr)))
        cells.append(f"{(counts[1] - counts[0]) / 100:.0f}")
    print(f"| {ranks}, instructions | " + " | ".join(cells) + " | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--tensors", type=int, default=148)
    parser.add_argument("--elements", type=int, default=0)
    parser.add_argument("--work", type=int, default=5000)
    parser.add_argument("--instructions", action="store_true")
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    words = [str(word) for word in (arguments.steps, arguments.tensors, arguments.elements, arguments.work)]
    print("| ranks | " + " | ".join(configurations(build)) + " | by the report: own time a step, slowest rank |")
    print("|---|" + "---|" * (len(configurations(build)) + 1))
    for ranks in arguments.ranks:
        if arguments.instructions:
            instructions(build, arguments, ranks)
        else:
            times(build, arguments, words, ranks)


if __name__ == "__main__":
    main()
