#!/usr/bin/env python3
"""What the library adds to the start of a process (loading it, with all of its wrappers) and to MPI_Init and MPI_Finalize:
medians over interleaved runs of a program that does nothing else. With every function recorded (MEGASCOPE_MPI=all).

  bench/start_cost.py BUILD_DIRECTORY [--rounds 15] [--ranks 1 2]
"""

import argparse
import collections
import subprocess
import tempfile
import time

import support


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2])
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    every = support.configurations(build, with_eztrace=False)
    words, environment = every["megascope"]
    configurations = {"bare": every["bare"], "megascope": (words, environment | {"MEGASCOPE_MPI": "all"})}
    print("| | ranks | bare | added |")
    print("|---|---|---|---|")
    print_loading(build, configurations, arguments.rounds)
    for ranks in arguments.ranks:
        print_start(build, configurations, ranks, arguments.rounds)


def row(name, ranks, samples):
    bare, ours = (support.median(samples[key]) * 1e-6 for key in ("bare", "megascope"))
    print(f"| {name} | {ranks} | {bare:.2f} ms | {ours - bare:+.2f} ms |")


def print_loading(build, configurations, rounds):
    """A program that is linked with MPI and never starts it, run to its end."""
    samples = collections.defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="megascope-bench-") as directory:
        for _ in range(rounds * 4):
            for name, (_, environment) in configurations.items():
                command = ["env", *(f"{key}={value}" for key, value in environment.items()), build.program("mpi_no_start")]
                begin = time.monotonic_ns()
                subprocess.run(command, cwd=directory, check=True)
                samples[name].append(time.monotonic_ns() - begin)
    row("process without MPI_Init", 1, samples)


def print_start(build, configurations, ranks, rounds):
    init, finalize = collections.defaultdict(list), collections.defaultdict(list)
    for _ in range(rounds):
        for name, configuration in configurations.items():
            with support.Run(configuration, [build.program("mpi_start")], ranks) as run:
                in_init, _, in_finalize = run.rows()["start"]
                init[name].append(in_init)
                finalize[name].append(in_finalize)
    row("MPI_Init", ranks, init)
    row("MPI_Finalize", ranks, finalize)


if __name__ == "__main__":
    main()
