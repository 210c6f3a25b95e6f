#!/usr/bin/env python3
"""Time that a tool adds to an MPI call: medians over interleaved rounds, beside the floors and EZTrace.

  bench/call_cost.py BUILD_DIRECTORY [--rounds 5] [--calls 300000] [--ranks 1|2] [--places]

--places: also with MEGASCOPE_CALLSITE=1, and without EZTrace.
"""

import argparse
import collections

import support


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=300000)
    parser.add_argument("--ranks", type=int, default=1, choices=(1, 2))
    parser.add_argument("--places", action="store_true")
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    configurations = support.configurations(build, with_eztrace=not arguments.places, with_places=arguments.places)

    medians = collections.defaultdict(lambda: collections.defaultdict(list))
    minima = collections.defaultdict(lambda: collections.defaultdict(list))
    cpu = collections.defaultdict(lambda: collections.defaultdict(list))
    bytes_per_call = {}
    for _ in range(arguments.rounds):
        for name, configuration in configurations.items():
            command = [build.program("mpi_call_cost"), str(arguments.calls)]
            with support.Run(configuration, command, arguments.ranks) as run:
                for case, (median, minimum, cpu_ns) in run.rows().items():
                    medians[case][name].append(median)
                    minima[case][name].append(minimum)
                    cpu[case][name].append(cpu_ns)
                report = run.report()
                if report:
                    bytes_per_call[name] = run.trace_bytes(".mgt") / report["mpi_calls"]

    names = [name for name in configurations if name != "bare"]
    print(f"added ns a call, {arguments.ranks} rank(s), {arguments.rounds} rounds of {arguments.calls} calls: median "
          "(minimum; CPU)")
    print("| case | bare | " + " | ".join(names) + " |")
    print("|---|---|" + "---|" * len(names))
    for case in medians:
        bare = [support.median(table[case]["bare"]) for table in (medians, minima, cpu)]
        if case == "finalize_s":
            cells = [f"{support.median(medians[case][name]):.3f} s" for name in names]
            print(f"| MPI_Finalize | {bare[0]:.3f} s | " + " | ".join(cells) + " |")
            continue
        cells = []
        for name in names:
            added = [support.median(table[case][name]) - base
                     for table, base in zip((medians, minima, cpu), bare)]
            cells.append(f"{added[0]:+.1f} ({added[1]:+.1f}; {added[2]:+.1f})")
        print(f"| {case} | {bare[0]:.1f} | " + " | ".join(cells) + " |")
    for name, value in bytes_per_call.items():
        print(f"bytes a call on disk, {name}: {value:.1f}")


if __name__ == "__main__":
    main()
