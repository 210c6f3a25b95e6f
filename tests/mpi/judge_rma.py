#!/usr/bin/env python3
"""Runs the one-sided scenarios on 1, 2 and 4 ranks with all exports, and has the traces judged by readers that are not
ours (timelines of the first two programs on 2 ranks only: that takes long): operations, bytes, windows and completions agree with one another and with the report.

  judge_rma.py --mpirun FILE --library FILE --tools DIRECTORY --trace-processor DIRECTORY PROGRAM...

Exit code 0: all is well; 1: a defect, named; 77: what judges the timelines is not installed.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools"))
import launch  # noqa: E402

PUTS = ("MPI_Put", "MPI_Rput")
GETS = ("MPI_Get", "MPI_Rget")
ATOMICS = ("MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap", "MPI_Raccumulate",
           "MPI_Rget_accumulate")
# Calls whose slices are the only ones of their name: an operation with a request has a second one.
WITHOUT_REQUEST = ("MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op",
                   "MPI_Compare_and_swap")
ARGUMENTS = """SELECT slice.name, SUM(IIF(key GLOB '*.bytes' OR key GLOB '*.bytes_received', int_value, 0)) AS bytes,
  SUM(key GLOB '*.window') AS windows, SUM(key GLOB '*.target') AS targets
  FROM slice JOIN args USING (arg_set_id) WHERE slice.name GLOB 'MPI_*' GROUP BY slice.name"""


def fail(message):
    print("FAILED:", message)
    sys.exit(1)


def judge(command, what):
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if result.returncode != 0:
        fail(f"{what}: {result.stdout[-3000:]}{result.stderr[-2000:]}")
    return json.loads(result.stdout)


def run(program, ranks, directory, arguments):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_pml="ob1",
                       OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_btl="self,vader",
                       OMPI_MCA_osc="sm,rdma,pt2pt", MEGASCOPE_EXPORT="otf2+perfetto+chrome", MEGASCOPE_OUT=f"{directory}/run",
                       MEGASCOPE_SCRATCH=str(directory))
    launcher = [arguments.mpirun]
    command = [*launcher, *launch.setting(launcher, LD_PRELOAD=arguments.library), "-n", str(ranks), program, "--scenarios"]
    result = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=100)
    if result.returncode != 0:
        fail(f"{program} on {ranks} ranks: {result.stderr[-2000:]}")
    return directory / "run"


def bytes_of(report, functions):
    return sum(report["functions"].get(name, {"bytes": 0})["bytes"] for name in functions)


def judge_archive(run_directory, report, arguments):
    """The whole of what OTF2 says of one-sided communication."""
    otf2 = judge(["/usr/bin/python3", f"{arguments.tools}/check_otf2.py", str(run_directory / "trace.otf2")], "OTF2")
    told = otf2["one_sided"]
    if told["bytes_to_targets"] + told["bytes_from_targets"] != bytes_of(report, PUTS + GETS + ATOMICS):
        fail(f"bytes: {told} in OTF2, {bytes_of(report, PUTS + GETS + ATOMICS)} in the report")
    if told["operations_completed"] != told["puts"] + told["gets"] + told["atomics"]:
        fail(f"not every operation is complete: {told}")
    if report["matrix"]["messages"] != otf2["messages"]:
        fail(f"messages: {report['matrix']['messages']} in the report, {otf2['messages']} in OTF2")
    return told


def judge_timeline(path, report, arguments):
    timeline = judge(["node", f"{arguments.tools}/trace_processor/check_timeline.mjs", str(path), ARGUMENTS], path.name)
    rows = {row["name"]: row for row in timeline["answers"][0]}
    for name in WITHOUT_REQUEST:
        if name in report["functions"] and int(rows[name]["bytes"]) != report["functions"][name]["bytes"]:
            fail(f"{path.name}: {rows[name]} but {report['functions'][name]['bytes']} bytes in the report")
    targets = sum(int(row["targets"]) for row in rows.values())
    windows = sum(int(row["windows"]) for row in rows.values())
    if not 0 < targets <= windows:
        fail(f"{path.name}: {targets} targets, {windows} windows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--trace-processor", required=True)
    arguments = parser.parse_args()
    processor = pathlib.Path(arguments.trace_processor)
    has_processor = (processor / "trace_processor.wasm").exists() and shutil.which("node") is not None
    os.environ["TRACE_PROCESSOR"] = str(processor)
    for index, program in enumerate(arguments.programs):
        for ranks in (1, 2, 4):
            with tempfile.TemporaryDirectory(prefix="judge-rma-") as directory:
                run_directory = run(program, ranks, pathlib.Path(directory), arguments)
                report = json.loads((run_directory / "report.json").read_text())
                told = judge_archive(run_directory, report, arguments)
                has_timelines = has_processor and ranks == 2 and index < 2
                for name in ("trace.perfetto-trace", "trace.json.gz") if has_timelines else ():
                    judge_timeline(run_directory / name, report, arguments)
                print(f"{pathlib.Path(program).name} on {ranks}: {told}")
    if not has_processor:
        print("SKIPPED: all is well but for Perfetto and Chrome, which were not judged: no trace processor")
        sys.exit(77)


if __name__ == "__main__":
    main()
