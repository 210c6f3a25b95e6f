#!/usr/bin/env python3
"""What finding the other ranks and comparing clocks takes in MPI_Init, as the number of ranks grows, beside a bare MPI_Barrier right
behind MPI_Init: on more ranks than cores it is the scheduler that is measured, in both. Medians of rank 0; one clock for all ranks,
and one for each.

  bench/sync_cost.py BUILD_FOLDER [--ranks 2 4 8 16 32 64] [--rounds 5]
"""

import argparse
import collections
import re

import support

UNITS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}
SAID = re.compile(r"checked in ([0-9.]+) (\w+) that .* compared clocks in ([0-9.]+) (\w+)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8, 16, 32, 64])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    _, environment = support.configurations(build, with_eztrace=False)["megascope"]
    print("| ranks | bare barrier, ms | who is here, ms | clocks, one domain, ms | clocks, a domain a rank, ms |")
    print("|---|---|---|---|---|")
    for ranks in arguments.ranks:
        found = measure(build, environment, ranks, arguments.rounds)
        columns = ("barrier", "company", "one", "each")
        print(f"| {ranks} | " + " | ".join(f"{support.median(found[name]):.2f}" for name in columns) + " |", flush=True)


def measure(build, environment, ranks, rounds):
    """Column -> samples in ms."""
    samples = collections.defaultdict(list)
    own = {"OMPI_MCA_mpi_yield_when_idle": "1"} if ranks > 2 else {}
    for _ in range(rounds):
        with support.Run(([], own), [build.program("mpi_scale"), "10"], ranks) as run:
            samples["barrier"].append(run.rows()["barrier"][0] * 1e-6)
        for column, more in (("one", {}), ("each", {"MEGASCOPE_TEST_CLOCK": "0/0/0"})):
            settings = environment | own | more | {"MEGASCOPE_VERBOSE": "1"}
            with support.Run(([], settings), [build.program("mpi_scale"), "10"], ranks) as run:
                said = SAID.search(run.result.stderr)
                if said is None:
                    raise SystemExit(run.result.stderr[-2000:])
                samples["company"].append(float(said[1]) * UNITS[said[2]])
                samples[column].append(float(said[3]) * UNITS[said[4]])
    return samples


main()
