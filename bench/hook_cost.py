#!/usr/bin/env python3
"""Time of a hook: with the stub alone, with the library loaded but off, and recorded, beside the floor of the same run (two
readings of the clock and a store of 32 bytes). Medians of interleaved rounds, an empty loop taken off.

  bench/hook_cost.py BUILD_DIRECTORY [--rounds 5] [--calls 640000]
"""

import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import tempfile

import support

CASES = ("region", "region_at", "counter", "tensor", "nvtx", "nvtx_registered", "nvtx_range")  # of NVTX where it is built in


def run(build, calls, environment):
    """case -> median and mean, ns."""
    directory = tempfile.mkdtemp(prefix="megascope-bench-")
    try:
        done = subprocess.run([build.program("hook_cost"), str(calls)], cwd=directory, capture_output=True, text=True, check=True,
                              env=os.environ | environment)
        for path in pathlib.Path(directory).glob("megascope-*/report.json"):
            text = path.read_text()
            if '"buffer_full": 0' not in text:
                raise SystemExit("records were lost: this is not the cost of recording")
        return {line.split()[0]: (float(line.split()[1]), float(line.split()[3])) for line in done.stdout.splitlines()}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=640000)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    loaded = {"LD_PRELOAD": str(build.library), "NVTX_INJECTION64_PATH": str(build.library), "MEGASCOPE_REPORT": "off", "MEGASCOPE_EXPORT": "none", "MEGASCOPE_BUFFER_SIZE": "4G"}
    configurations = {"stub": {}, "loaded, off": loaded | {"MEGASCOPE_ENABLE": "0"}, "recorded": loaded,
                      "recorded, full": loaded | {"MEGASCOPE_TRACE": "full"}}
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    floors = []
    for _ in range(arguments.rounds):
        for name, environment in configurations.items():
            measured = run(build, arguments.calls, environment)
            floors.append(measured["floor"][0] - measured["empty"][0])
            for case in (case for case in CASES if case in measured):
                times[case][name].append([value - empty for value, empty in zip(measured[case], measured["empty"])])
    floor = support.median(floors)
    print(f"ns, median of {arguments.rounds} rounds: of short batches (times the floor, {floor:.1f} ns), and mean with full buffers")
    print("| hook | " + " | ".join(configurations) + " |")
    print("|---|" + "---|" * len(configurations))
    for case in (case for case in CASES if case in times):
        cells = []
        for name in configurations:
            median, mean = (support.median(values) for values in zip(*times[case][name]))
            cells.append(f"{median:.2f} ({median / floor:.2f}), {mean:.2f}")
        print(f"| {case} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
