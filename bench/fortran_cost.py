#!/usr/bin/env python3
"""What a call through Fortran costs more than the same call through C, with recording and without: medians over interleaved
rounds of a program that makes both kinds of calls in turn.

  bench/fortran_cost.py BUILD_DIRECTORY [--rounds 5] [--calls 300000]
"""

import argparse
import collections

import support


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=300000)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    all_configurations = support.configurations(build, with_eztrace=False)
    configurations = {name: all_configurations[name] for name in ("bare", "megascope")}
    print("| case | interface | C, bare | C, added | Fortran, bare | Fortran, added | more than C |")
    print("|---|---|---|---|---|---|---|")
    for interface in ("mpif", "f08"):
        print_interface(build, configurations, interface, arguments)


def print_interface(build, configurations, interface, arguments):
    medians = collections.defaultdict(lambda: collections.defaultdict(list))
    command = [build.program(f"mpi_call_cost_{interface}"), str(arguments.calls)]
    for _ in range(arguments.rounds):
        for name, configuration in configurations.items():
            with support.Run(configuration, command) as run:
                rows = run.rows()
                run.report()
                for case, (median, _, _) in rows.items():
                    medians[case][name].append(median)
    for case in [name.removesuffix("_c") for name in medians if name.endswith("_c")]:
        bare = {of: support.median(medians[f"{case}_{of}"]["bare"]) for of in ("c", "fortran")}
        added = {of: support.median(medians[f"{case}_{of}"]["megascope"]) - bare[of] for of in bare}
        print(f"| {case} | {interface} | {bare['c']:.1f} | {added['c']:+.1f} | {bare['fortran']:.1f} | "
              f"{added['fortran']:+.1f} | {added['fortran'] - added['c']:+.1f} |")


if __name__ == "__main__":
    main()
