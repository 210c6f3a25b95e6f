"""Runs real MPI programs with libmegascope.so and an injected fault, and records the fault.

    python3 inject.py BUILD --out DIRECTORY [--programs heat2d,hpcc] [--faults sleep,none] [--seeds 1-3]

Each run is DIRECTORY/PROGRAM-FAULT-SEED with run/ (the trace) and ground_truth.json. Existing runs are not repeated. Afterwards,
`corpus.py MEGASCOPE --cases programs --programs DIRECTORY` judges the runs. Four ranks use all cores (at most two); each is pinned to core
RANK mod cores. Only processes that this program starts are stopped or killed. Other work on the machine disturbs the ranks. With
--attempts, each run therefore waits up to a minute until the machine is idle, and is repeated if other processes used more than a tenth
of these cores. corpus.py omits runs that were still disturbed in the last attempt.
"""

import argparse
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import faults
import programs

HERE = pathlib.Path(__file__).resolve().parent
CORES = min(2, os.cpu_count() or 1)
TIMEOUT_S = 180
START_TIMEOUT_S = 60
BURN = "while True:\n for _ in range(1000000): pass"
OTHERS_SHARE = 0.1                 # other processes that use a smaller share of the cores' time do not disturb a run
IDLE_TIMEOUT_S = 60


class Skipped(Exception):
    """This run is not possible on this machine, for the given reason."""


def build_shim(directory):
    library = os.path.join(directory, "fault_shim.so")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, str(HERE / "fault_shim.c"), "-ldl"], check=True)
    return library


class Others:
    """CPU time of processes that this program did not start, since the construction."""

    def __init__(self):
        self.begin_s, self.begin_busy_s, self.begin_own_s = time.monotonic(), self.busy_s(), self.own_s()

    @staticmethod
    def busy_s():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, interrupts, soft = (int(word) for word in file.readline().split()[1:8])
        return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def own_s():
        """CPU time of this process and of child processes that were waited for."""
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in both)

    def share(self):
        """CPU time of the other processes as a share of the time of the cores that ranks use."""
        others_s = self.busy_s() - self.begin_busy_s - (self.own_s() - self.begin_own_s)
        return max(0.0, others_s) / (CORES * max(1e-3, time.monotonic() - self.begin_s))


def wait_until_idle():
    until = time.monotonic() + IDLE_TIMEOUT_S
    while time.monotonic() < until:
        others = Others()
        time.sleep(1)
        if others.share() < OTHERS_SHARE:
            return


def launcher(planned):
    """The launcher and its options. Waiting ranks yield, because they share cores. The fault "wire" needs TCP."""
    transport = "self,tcp" if planned["fault"] == "wire" else "self,vader"
    return ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(faults.RANKS),
            "--mca", "btl", transport, "--mca", "btl_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1",
            "--mca", "btl_vader_single_copy_mechanism", "none"]


def read_pids(directory):
    """Process id of each rank; empty until all ranks have left MPI_Init."""
    pids = []
    for rank in range(faults.RANKS):
        path = directory / f"pid.{rank}"
        text = path.read_text(encoding="ascii") if path.exists() else ""
        if not text.endswith("\n"):
            return []
        pids.append(int(text))
    return pids


class Outsider(threading.Thread):
    """Injects the faults that the shim does not: stops a rank in bursts, or uses its core. acted_s: total duration."""

    def __init__(self, planned, directory):
        super().__init__(daemon=True)
        self.planned, self.directory, self.acted_s, self.ends = planned, directory, 0.0, threading.Event()

    def pids(self):
        until = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until and not self.ends.is_set():
            found = read_pids(self.directory)
            if found:
                return found
            time.sleep(0.02)
        return []

    def run(self):
        pids = self.pids()
        if pids and self.planned["fault"] == "stops":
            self.stop_in_bursts(pids[self.planned["rank"]])
        elif pids and self.planned["fault"] in ("competitor", "burner"):
            self.compete(nice=0 if self.planned["fault"] == "competitor" else 5)

    def stop_in_bursts(self, pid):
        pause = self.planned["stop_s"] * (1 / self.planned["share"] - 1)
        while not self.ends.wait(pause):
            try:
                os.kill(pid, signal.SIGSTOP)
                begin = time.monotonic()
                self.ends.wait(self.planned["stop_s"])
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                return
            self.acted_s += time.monotonic() - begin

    def compete(self, nice):
        core = self.planned["rank"] % CORES

        def settle():
            os.sched_setaffinity(0, {core})
            os.nice(nice)
        with subprocess.Popen([sys.executable, "-c", BURN], preexec_fn=settle) as burner:
            self.ends.wait()
            burner.kill()
            _, _, usage = os.wait4(burner.pid, 0)
            burner.returncode = -signal.SIGKILL
            self.acted_s = usage.ru_utime + usage.ru_stime

    def finish(self):
        self.ends.set()
        self.join()


def run_program(planned, build, shim, scratch):
    """Runs the program in scratch; the run directory is scratch/run. Returns the seconds for which the Outsider acted."""
    program = programs.PROGRAMS[planned["program"]]
    work = scratch / "work"
    work.mkdir()
    variables = {"LD_PRELOAD": f"{shim}:{build}/lib/libmegascope.so", "MEGASCOPE_OUT": str(scratch / "run"),
                 "MEGASCOPE_EXPORT": "none",
                 "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "VERDICT_DIRECTORY": str(scratch), **program.environment,
                 **faults.environment(planned, CORES)}
    words = launcher(planned)
    for name, value in variables.items():
        words += ["-x", f"{name}={value}"]
    outsider = Outsider(planned, scratch)
    outsider.start()
    with open(scratch / "output", "wb") as output:
        with subprocess.Popen([*words, *program.command(work, build)], cwd=work, stdout=output, stderr=subprocess.STDOUT,
                              start_new_session=True) as process:
            try:
                process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                raise
            finally:
                outsider.finish()
    if process.returncode != 0:
        text = (scratch / "output").read_text(encoding="utf-8", errors="replace")
        raise Skipped(f"ended with {process.returncode}: {text[-400:]}")
    return outsider.acted_s


def ledgers_of(scratch):
    paths = [scratch / f"ledger.{rank}" for rank in range(faults.RANKS)]
    if not all(path.exists() for path in paths):
        raise Skipped("a rank left no ledger")
    return [json.loads(path.read_text(encoding="ascii")) for path in paths]


def make_run(planned, build, shim, out, attempts=1):
    """Makes one run, repeated while other processes use the machine, and moves it to its directory when it is complete."""
    program = programs.PROGRAMS[planned["program"]]
    missing = program.missing(build)
    if missing:
        raise Skipped(f"there is no {missing}")
    if planned["fault"] == "wire" and not program.sends:
        raise Skipped("it sends no messages by C functions of its own")
    for attempt in range(attempts):
        if attempts > 1:
            wait_until_idle()
        with tempfile.TemporaryDirectory(prefix="inject.") as directory:
            scratch, others = pathlib.Path(directory), Others()
            acted_s = run_program(planned, build, shim, scratch)
            others_share = others.share()
            if others_share > OTHERS_SHARE and attempt + 1 < attempts:
                continue
            truth = {**faults.truth_of(planned, ledgers_of(scratch), CORES, acted_s), "others_share": round(others_share, 3)}
            target = out / f"{planned['program']}-{planned['fault']}-{planned['seed']}"
            target.mkdir(parents=True)
            shutil.move(scratch / "run", target / "run")
            (target / "ground_truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
            return truth
    raise ValueError("attempts is at least 1")


def names(known):
    def parse(text):
        chosen = list(known) if text == "all" else text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(known)}")
        return chosen
    return parse


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build directory with lib/libmegascope.so, bin/, examples/")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--programs", type=names(programs.PROGRAMS), default=list(programs.PROGRAMS))
    parser.add_argument("--faults", type=names(faults.KINDS), default=list(faults.KINDS))
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--attempts", type=int, choices=range(1, 11), default=1, metavar="1-10")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    first, _, last = arguments.seeds.partition("-")
    arguments.build = os.path.abspath(arguments.build)
    with tempfile.TemporaryDirectory(prefix="shim.") as directory:
        shim = build_shim(directory)
        for seed in range(int(first), int(last or first) + 1):
            for program in arguments.programs:
                for fault in arguments.faults:
                    if (arguments.out / f"{program}-{fault}-{seed}" / "ground_truth.json").exists():
                        continue
                    begin = time.monotonic()
                    try:
                        truth = make_run(faults.plan(program, fault, seed), arguments.build, shim, arguments.out, arguments.attempts)
                        said = f"injected {truth['injected_share']:.3f}, {truth['observable']}, others {truth['others_share']:.2f}"
                    except (Skipped, subprocess.TimeoutExpired) as error:
                        said = f"skipped: {error}"
                    print(f"{program} {fault} {seed}: {said} ({time.monotonic() - begin:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
