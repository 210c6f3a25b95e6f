#!/usr/bin/env python3
"""Runs a real MPI program bare and under libmegascope.so: it must print and return the same. Then has the traces judged by
readers that are not ours, and the number of calls of each function by a counter that is not the library.

  run_app.py APP --library FILE --command FILE --counter FILE --programs DIRECTORY --tools DIRECTORY --trace-processor DIRECTORY
  (apps.py names the programs)

Exit code 0: all is well; 1: a difference or a defect, named; 77: the program, or what judges its traces, is not installed.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from apps import APPS

NOT_RECORDED = re.compile(r"MPI_(WTIME|WTICK|T_\w+|\w+_(c2f|f2c|f2c08|f082c))$", re.I)
SPANS = ("SELECT slice.name AS name, COUNT(*) AS count FROM slice JOIN thread_track ON slice.track_id = thread_track.id "
         "GROUP BY slice.name")  # of threads; requests have spans of their own
TESTS = re.compile(r"MPI_(Test(all|any|some)?|Iprobe|Improbe|Request_get_status)$")  # in a row, one span


def fail(message):
    print("FAILED:", message)
    sys.exit(1)


def launch(app, command, directory, variables):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                       OMPI_MCA_btl_vader_single_copy_mechanism="none", **app.environment)
    launcher = ["mpirun.openmpi", "-n", str(app.ranks)]
    for name, value in variables.items():
        launcher += ["-x", f"{name}={value}"]
    result = subprocess.run(launcher + command, cwd=directory, env=environment, capture_output=True, text=True, timeout=250,
                            check=False)
    if result.returncode != app.exit_code:
        fail(f"exit code {result.returncode}, should be {app.exit_code}: {result.stderr[-2000:]}")
    return result


def play(app, mode, scratch, variables):
    """What the program computed, and where it ran."""
    directory = pathlib.Path(scratch) / mode
    directory.mkdir()
    result = launch(app, app.prepare(directory), directory, variables)
    outcome = app.results(directory, result.stdout)
    if not outcome:
        fail(f"{mode} run: no result was found in its output")
    return outcome, directory, result.stderr


def judge(command, what):
    result = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    if result.returncode != 0:
        fail(f"{what}: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    return json.loads(result.stdout)


def plain(name):
    """mpi_send_f08_, mpi_send__ and MPI_Send are one function."""
    return re.sub(r"(_cptr)?(_f08)?_*$", "", name.upper(), flags=re.I)


def read_books(directory):
    """Calls by function as count_calls.c saw them, over all processes."""
    books = collections.Counter()
    for path in directory.glob("book.*"):
        for name, calls in struct.iter_unpack("56sQ", path.read_bytes()):
            function = name.rstrip(b"\0").decode()
            if calls and not NOT_RECORDED.match(plain(function)):
                books[plain(function)] += calls
    return books


def compare(what, has, should):
    if has != should:
        names = sorted(set(has) | set(should))
        fail(what + ": " + ", ".join(f"{name} {has.get(name, 0)}, should be {should.get(name, 0)}" for name in names
                                     if has.get(name, 0) != should.get(name, 0)))


def judge_report(app, run_directory, books):
    """Calls by function, with those that had not returned when the program was ended."""
    report = json.loads((run_directory / "report.json").read_text())
    lost = {cause: count for cause, count in report["losses"].items() if count}
    if lost or report["ranks"] != app.ranks:
        fail(f"report.json: losses {lost}, ranks {report['ranks']}")
    by_function = collections.Counter({name: row["calls"] for name, row in report["functions"].items()})
    if report["mpi_calls"] != sum(by_function.values()):
        fail(f"{report['mpi_calls']} calls in the report, but {sum(by_function.values())} of its functions")
    compare("bytes received", {name: report["functions"][name]["bytes_received"] for name in app.received}, app.received)
    by_function.update(call["function"] for call in report["pending"]["longest"])
    by_function = {name: calls for name, calls in by_function.items() if calls}
    compare("calls in the report, and by the counter", {name.upper(): calls for name, calls in by_function.items()}, books)
    return by_function


def judge_otf2(app, run_directory, tools, by_function):
    otf2 = judge(["/usr/bin/python3", f"{tools}/check_otf2.py", str(run_directory / "trace.otf2")]
                 + ([] if app.is_whole else ["--incomplete"]), "OTF2")
    compare("calls by function in OTF2, and in the report", otf2["calls"], by_function)
    if otf2["events"]["Enter"] > sum(by_function.values()):
        fail(f"OTF2: {otf2['events']['Enter']} Enters of {sum(by_function.values())} calls")
    return otf2


def judge_by_otf2_print(run_directory, by_function):
    """Ten times faster than Python's reader: is it silent, and are all calls there?"""
    entered = collections.Counter()
    with subprocess.Popen(["otf2-print", str(run_directory / "trace.otf2")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        for line in process.stdout:
            if line.startswith("ENTER"):
                entered[line.split('"', 2)[1]] += 1
            elif line.startswith(("[OTF2]", "otf2-print")):
                fail(f"otf2-print: {line}")
    if process.returncode != 0:
        fail(f"otf2-print ends with {process.returncode}")
    compare("calls by function in OTF2, and in the report", entered, by_function)


def judge_timelines(app, run_directory, arguments, by_function, messages):
    processor = pathlib.Path(arguments.trace_processor) / "trace_processor.wasm"
    if not processor.exists() or not shutil.which("node"):
        print("skipped: all is well but for Perfetto and Chrome, which were not judged: no trace processor")
        sys.exit(77)
    os.environ["TRACE_PROCESSOR"] = str(processor.parent)
    for name in ("trace.perfetto-trace", "trace.json.gz"):
        if not (run_directory / name).exists():
            fail(f"{name} was not written")
        timeline = judge(["node", f"{arguments.tools}/trace_processor/check_timeline.mjs", str(run_directory / name), SPANS],
                         name)
        spans = {row["name"]: int(row["count"]) for row in timeline["answers"][0]}
        slices = {function: spans.get(function, 0) for function in by_function}
        compare(f"{name}: slices of functions",
                {function: count for function, count in slices.items() if not TESTS.match(function)},
                {function: count for function, count in by_function.items() if not TESTS.match(function)})
        if any(slices[function] > by_function[function] for function in by_function):
            fail(f"{name}: more slices than calls: {slices}, {by_function}")
        if timeline["flows"] < messages and app.is_whole:
            fail(f"{name}: {timeline['flows']} arrows for {messages} messages")


def megascope(command, *arguments):
    result = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=100, check=False)
    if result.returncode != 0:
        fail(f"megascope {arguments[0]}: {result.stdout[-1000:]}{result.stderr[-1000:]}")
    return result.stdout


def find_run(directory, command, stderr):
    run_directories = list(directory.glob("megascope-*"))
    if len(run_directories) != 1:
        fail(f"run directories: {run_directories}; {stderr[-2000:]}")
    if not (run_directories[0] / "report.json").exists():  # it was ended before MPI_Finalize
        megascope(command, "recover", run_directories[0])
        megascope(command, "export", run_directories[0], "--format", "otf2,perfetto,chrome")
        (run_directories[0] / "report.json").write_text(megascope(command, "report", run_directories[0], "--json"))
    return run_directories[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("app", choices=APPS)
    for name in ("library", "command", "counter", "programs", "tools", "trace-processor"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    app = APPS[arguments.app]
    app.programs = pathlib.Path(arguments.programs)
    missing = app.missing()
    if missing:
        print(f"SKIPPED: {missing} is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="megascope-app-") as scratch:
        bare, _, _ = play(app, "bare", scratch, {})
        traced, directory, stderr = play(app, "traced", scratch, {
            "LD_PRELOAD": f"{arguments.counter}:{arguments.library}", "COUNT_CALLS_BOOK": f"{scratch}/book",
            "MEGASCOPE_EXPORT": "otf2+perfetto+chrome" if "timelines" in app.judges else "otf2",
            "MEGASCOPE_SCRATCH": scratch})
        if bare != traced:
            fail(f"results differ: bare {bare}, traced {traced}")
        run_directory = find_run(directory, arguments.command, stderr)
        by_function = judge_report(app, run_directory, read_books(pathlib.Path(scratch)))
        if "otf2-print" in app.judges:
            judge_by_otf2_print(run_directory, by_function)
        if "otf2" in app.judges:
            otf2 = judge_otf2(app, run_directory, arguments.tools, by_function)
        if "timelines" in app.judges:
            judge_timelines(app, run_directory, arguments, by_function, otf2["messages"])
    print(f"{arguments.app}: {len(bare)} result lines equal, {sum(by_function.values())} calls of "
          f"{len(by_function)} functions")


if __name__ == "__main__":
    main()
