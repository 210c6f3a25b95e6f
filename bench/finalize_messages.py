#!/usr/bin/env python3
"""Our own messages in MPI_Finalize, most of one rank, and the time MPI_Finalize takes, at growing numbers of ranks.

  bench/finalize_messages.py BUILD_FOLDER [--ranks 2 8 16 32 64]
"""

import argparse
import re

import support


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 8, 16, 32, 64])
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    configurations = support.configurations(build, with_eztrace=False)
    words, environment = configurations["megascope"]
    ours = (words, environment | {"MEGASCOPE_VERBOSE": "1", "OMPI_MCA_mpi_yield_when_idle": "1"})
    bare = ([], {"OMPI_MCA_mpi_yield_when_idle": "1"})
    print("| ranks | messages, most of one rank | MPI_Finalize bare s | with s |")
    print("|---|---|---|---|")
    for ranks in arguments.ranks:
        command = [build.program("mpi_call_cost"), "1000"]
        with support.Run(bare, command, ranks) as run:
            bare_s = run.rows()["finalize_s"][0]
        with support.Run(ours, command, ranks) as run:
            with_s = run.rows()["finalize_s"][0]
            text = " ".join(run.report_text().split())
            found = re.search(r"at most (\d+) by one rank", text)
            print(f"| {ranks} | {found.group(1) if found else '?'} | {bare_s:.3f} | {with_s:.3f} |")


if __name__ == "__main__":
    main()
