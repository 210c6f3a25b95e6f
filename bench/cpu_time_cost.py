#!/usr/bin/env python3
"""What readings of CPU times cost (MEGASCOPE_CPU_TIME): one reading, and the share of a rank's time that all of them take in a
training run of the example GPT and in a program that does nothing but call MPI. The share is the number of readings times the cost of one:
both are counted, where a difference of times would be noise.

  bench/cpu_time_cost.py BUILD_DIRECTORY [--steps 40]
"""

import argparse
import json
import statistics
import subprocess

import support

GPT = ["--layers", "4", "--hidden", "128", "--heads", "4", "--sequence", "64", "--batch", "16", "--micro-batches", "4"]
MOST_READING_NS = 3000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    cost_ns = reading_ns(build)
    print(f"a reading: {cost_ns:.0f} ns (goal: at most {MOST_READING_NS})")
    print("| program | ranks | readings a rank | time a rank | share (goal: at most 0.05 %) |")
    print("|---|---|---|---|---|")
    for name, ranks, command in (("megascope-gpt", 1, [build.program("megascope-gpt"), *GPT, "--steps", str(arguments.steps)]),
                                 ("megascope-gpt", 2, [build.program("megascope-gpt"), "--tp", "2", *GPT, "--steps", str(arguments.steps)]),
                                 ("mpi_call_cost", 1, [build.program("mpi_call_cost"), "1000000"])):
        readings, wall_s = readings_of(build, command, ranks)
        print(f"| `{name}` | {ranks} | {readings} | {wall_s:.2f} s | {100 * readings * cost_ns / 1e9 / wall_s:.4f} % |")


def reading_ns(build):
    done = subprocess.run([build.program("cpu_reading_bench"), "--benchmark_filter=reading/.*threads:1$", "--benchmark_repetitions=7",
                           "--benchmark_format=json"], capture_output=True, text=True, check=True)
    runs = [run for run in json.loads(done.stdout)["benchmarks"] if run["run_type"] == "iteration"]
    return statistics.median(run["cpu_time"] for run in runs)


def readings_of(build, command, ranks):
    settings = {"LD_PRELOAD": str(build.library), "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off"}
    with support.Run(([], settings), command, ranks) as run:
        report = run.report()
        if run.result.returncode != 0 or report is None:
            raise SystemExit(f"{command}: {run.result.stderr}")
        most = max(report["per_rank"], key=lambda rank: rank["cpu_readings"])
        return most["cpu_readings"], most["wall_s"]


if __name__ == "__main__":
    main()
