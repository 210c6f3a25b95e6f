#!/usr/bin/env python3
"""Runs a real MPI program bare and under libmegascope.so, compares what it computed, and has the traces judged by
readers that are not ours.

  run_app.py lammps|hpcc --library FILE --tools FOLDER --trace-processor FOLDER

Exit code 0: all is well; 1: a difference or a defect, named; 77: the program, or what judges its traces, is not installed.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RANKS = 2

LAMMPS_INPUT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 20
run 200
"""
HPCC_TEMPLATE = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
HPCC_LINES = {5: "100 Ns", 7: "40 NBs", 10: "1 Ps", 11: "2 Qs"}  # small enough for a test; line numbers from 0


def fail(message):
    print("FAILED:", message)
    sys.exit(1)


class Lammps:
    program = "lmp"

    def prepare(self, folder):
        (folder / "in.lj").write_text(LAMMPS_INPUT)
        return ["lmp", "-in", "in.lj", "-log", "none"]

    def results(self, folder, output):
        """The thermodynamic table, digit by digit."""
        rows = [line.split() for line in output.splitlines() if re.match(r"^ +\d+ +[-\d.]", line)]
        return [row for row in rows if len(row) == 6]


class Hpcc:
    program = "hpcc"

    def prepare(self, folder):
        lines = HPCC_TEMPLATE.read_text().splitlines()
        for number, text in HPCC_LINES.items():
            lines[number] = text
        (folder / "hpccinf.txt").write_text("\n".join(lines) + "\n")
        return ["hpcc"]

    def results(self, folder, output):
        """What does not depend on speed: which parts ran, the residuals of HPL, the verdicts."""
        text = (folder / "hpccoutf.txt").read_text()
        found = re.findall(r"^(?:Begin|End) of .*|^\|\|Ax-b.*|^Success=.*|^.*_n=.*|^CommWorldProcs=.*|^HPL_N.*=.*|"
                           r"^.*tests? completed.*|^.*(?:Failed|failed).*", text, re.M)
        return [line for line in found if not re.search(r"time|GFlops|GBs|GUPs", line)]


def launch(command, folder, preload=None):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                       OMPI_MCA_btl_vader_single_copy_mechanism="none")
    launcher = ["mpirun.openmpi", "-n", str(RANKS)]
    if preload:
        launcher += ["-x", f"LD_PRELOAD={preload}", "-x", "MEGASCOPE_EXPORT=otf2+perfetto+chrome"]
    return subprocess.run(launcher + command, cwd=folder, env=environment, capture_output=True, text=True, timeout=250)


def judge(command, what):
    result = subprocess.run(command, capture_output=True, text=True, timeout=250)
    if result.returncode != 0:
        fail(f"{what}: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    return json.loads(result.stdout)


def judge_traces(run_folder, arguments):
    """Counts of three independent readers agree with one another and with the report."""
    report = json.loads((run_folder / "report.json").read_text())
    lost = {cause: count for cause, count in report["losses"].items() if count}
    if lost or report["ranks"] != RANKS:
        fail(f"report.json: losses {lost}, ranks {report['ranks']}")
    otf2 = judge(["/usr/bin/python3", f"{arguments.tools}/check_otf2.py", str(run_folder / "trace.otf2")], "OTF2")
    calls = sum(otf2["calls"].values())
    if calls != report["mpi_calls"] or otf2["events"]["Enter"] > calls:
        fail(f"calls: {report['mpi_calls']} in the report, {calls} in OTF2")
    by_function = {name: row["calls"] for name, row in report["functions"].items()}
    if by_function != otf2["calls"]:
        fail(f"calls by function differ: {by_function} in the report, {otf2['calls']} in OTF2")
    processor = pathlib.Path(arguments.trace_processor) / "trace_processor.wasm"
    if not processor.exists() or not shutil.which("node"):
        print("skipped: all is well but for Perfetto and Chrome, which nobody judged: no trace processor")
        sys.exit(77)
    os.environ["TRACE_PROCESSOR"] = str(processor.parent)
    for name in ("trace.perfetto-trace", "trace.json.gz"):
        if not (run_folder / name).exists():
            fail(f"{name} was not written")
        timeline = judge(["node", f"{arguments.tools}/trace_processor/check_timeline.mjs", str(run_folder / name)], name)
        for function in ("MPI_Init", "MPI_Allreduce", "MPI_Finalize"):
            if timeline["names"].get(function) != by_function[function]:
                fail(f"{name}: {timeline['names'].get(function)} slices of {function}, {by_function[function]} calls")
        if timeline["flows"] < otf2["messages"]:
            fail(f"{name}: {timeline['flows']} arrows for {otf2['messages']} messages")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("app", choices=("lammps", "hpcc"))
    parser.add_argument("--library", required=True)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--trace-processor", required=True)
    arguments = parser.parse_args()
    app = {"lammps": Lammps, "hpcc": Hpcc}[arguments.app]()
    if not shutil.which(app.program):
        print(f"SKIPPED: {app.program} is not installed")
        sys.exit(77)

    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="megascope-app-") as scratch:
        for mode in ("bare", "traced"):
            folder = pathlib.Path(scratch) / mode
            folder.mkdir()
            command = app.prepare(folder)
            result = launch(command, folder, arguments.library if mode == "traced" else None)
            if result.returncode != 0:
                fail(f"{mode} run ended with {result.returncode}: {result.stderr[-2000:]}")
            outcomes[mode] = app.results(folder, result.stdout)
            if not outcomes[mode]:
                fail(f"{mode} run: no result was found in its output")
        if outcomes["bare"] != outcomes["traced"]:
            fail(f"results differ: bare {outcomes['bare']}, traced {outcomes['traced']}")
        run_folders = list((pathlib.Path(scratch) / "traced").glob("megascope-*"))
        if len(run_folders) != 1:
            fail(f"run folders: {run_folders}; {result.stderr[-2000:]}")
        judge_traces(run_folders[0], arguments)
    print(f"{app.program}: {len(outcomes['bare'])} result lines equal")


if __name__ == "__main__":
    main()
