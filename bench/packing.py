#!/usr/bin/env python3
"""Bytes that a recorded call takes on disk while the program runs: of two ranks, in a regular loop, with messages that follow no
rule, and in the mix of mpi_call_cost. As docs/overhead.md shows them.

  bench/packing.py BUILD_DIRECTORY [--calls 1000000]
"""

import argparse

import support


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--calls", type=int, default=1000000)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    recorded = support.configurations(build, with_eztrace=False)["megascope"]
    commands = {
        "regular loop": [build.program("message_patterns"), "regular", str(arguments.calls)],
        "every message other": [build.program("message_patterns"), "irregular", str(arguments.calls)],
        "mix of mpi_call_cost": [build.program("mpi_call_cost"), str(arguments.calls // 10)]}
    print("| program, 2 ranks | calls | bytes of traces | bytes a call |")
    print("|---|---|---|---|")
    for name, command in commands.items():
        with support.Run(recorded, command, 2) as run:
            calls, size = run.report()["mpi_calls"], run.trace_bytes(".mgt")
            print(f"| {name} | {calls:,} | {size:,} | {size / calls:.1f} |")


main()
