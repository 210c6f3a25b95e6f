#!/usr/bin/env python3
"""What the library adds as the number of ranks grows: MPI_Init, memory of a rank, MPI_Finalize without an export, one export
afterwards; the halo exchange of mpi_scale.c, interleaved, medians; and a fitted exponent (added ~ ranks^e) of each.

  bench/scale.py BUILD_DIRECTORY [--ranks 8 16 32 64 128] [--rounds 3] [--steps 200]
"""

import argparse
import collections
import math
import pathlib
import subprocess
import time

import support

ROWS = {"init": (1e-6, "MPI_Init, ms"), "memory": (1 / 2**20, "memory of a rank, MiB"), "step": (1e-3, "a step, µs"),
        "finalize": (1e-6, "MPI_Finalize, ms")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    words, environment = support.configurations(build, with_eztrace=False)["megascope"]
    own = {"OMPI_MCA_mpi_yield_when_idle": "1"}
    configurations = {"bare": ([], own), "megascope": (words, environment | own)}
    results = {ranks: measure(build, configurations, ranks, arguments) for ranks in arguments.ranks}
    print_table(results)


def measure(build, configurations, ranks, arguments):
    """Row -> (median bare, median with)."""
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    for number in range(arguments.rounds):
        for name, configuration in configurations.items():
            with support.Run(configuration, [build.program("mpi_scale"), str(arguments.steps)], ranks) as run:
                rows = run.rows()
                if not set(ROWS) <= set(rows):
                    raise SystemExit(f"{ranks} ranks, {name}: {run.result.stderr[-2000:]}")
                for row, (unit, _) in ROWS.items():
                    samples[row][name].append(rows[row][0] * unit)
                report = run.report()
                if report is not None:
                    samples["own"][name].append(report["overhead_s"] * 1e3)
                    if number == 0:
                        samples["export"][name].append(export_s(build, run))
    return {row: (support.median(by["bare"]), support.median(by["megascope"])) for row, by in samples.items()}


def export_s(build, run):
    (directory,) = pathlib.Path(run.directory).glob("megascope-*/")
    begin = time.monotonic()
    subprocess.run([str(build.directory / "bin" / "megascope"), "export", directory, "-f", "otf2", "-o", pathlib.Path(run.directory) / "out"],
                   check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def print_table(results):
    columns = list(results)
    print("| | " + " | ".join(f"{ranks} ranks" for ranks in columns) + " | exponent |")
    print("|---|" + "---|" * (len(columns) + 1))
    for row, (_, title) in ROWS.items():
        cells = [f"{bare:.4g} {with_us - bare:+.3g}" for bare, with_us in (results[ranks][row] for ranks in columns)]
        added = [max(results[ranks][row][1] - results[ranks][row][0], 0) for ranks in columns]
        print(f"| {title} | " + " | ".join(cells) + f" | {exponent(columns, added)} |")
    for row, title in (("own", "measurement overhead, most of one rank, ms"), ("export", "OTF2 export afterwards, s")):
        values = [results[ranks][row][1] for ranks in columns]
        print(f"| {title} | " + " | ".join(f"{value:.3g}" for value in values) + f" | {exponent(columns, values)} |")


def exponent(ranks, values):
    """Of a least-squares line through the logarithms; "." where something added nothing."""
    if any(value <= 0 for value in values):
        return "."
    xs, ys = [math.log(rank) for rank in ranks], [math.log(value) for value in values]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)
    return f"{slope:.2f}"


if __name__ == "__main__":
    main()
