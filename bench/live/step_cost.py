#!/usr/bin/env python3
"""What the live view adds to a training step of the example GPT: without it, with no page open, with one page that shows run, ranks and
tensors, with ten of them of which one never reads. Of rank 0, pinned to processor 0: instructions of its main thread,
counted by callgrind, and CPU time of that thread, in rounds, each against the same round without a live view. Clients and the server's
thread are on the other processors. Of one rank beside a free processor, of ranks that have a processor each, and of four ranks for any number of
the processors, the measurement overhead that the report gives, and how long a view takes from its tensor to a client.

  bench/live/step_cost.py BUILD_DIRECTORY [--steps 60] [--counted 3] [--rounds 9] [--asked 3]

--counted 0, --rounds 0, --asked 0: instructions, CPU times, reports are left out.
"""

import argparse
import contextlib
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / directory) for directory in ("bench", "tests/live_job")]

import support  # noqa: E402
from job import Job  # noqa: E402

MODEL = ["--layers", "4", "--hidden", "128", "--heads", "4", "--sequence", "64", "--batch", "16", "--micro-batches", "4"]
COUNTED_MODEL = ["--layers", "2", "--hidden", "128", "--heads", "4", "--sequence", "64", "--batch", "4", "--micro-batches", "4"]
WAYS = {"no live view": None, "no page": (0, 0), "one page": (1, 0), "ten, one of them stalled": (10, 1)}
LAYOUTS = (("1 rank, the other core free for the server and its client", 1, ["taskset", "-c", "0"], [], "none"),
           ("2 ranks, a core each", 2, [], ["--tp", 2], "core"),
           ("4 ranks on these cores", 4, [], ["--tp", 2, "--pp", 2], "none"))
COUNTED_FROM = 6
SETTLED_STEPS = 12  # by then pages are there, and what they want is captured


class Watched:
    """A job of the GPT with its observers."""

    def __init__(self, build, way, ranks, command, bind):
        launcher = ["env", *(f"{name}={value}" for name, value in support.mpi_environment().items()), "mpirun.openmpi", "--bind-to", bind]
        self.job = Job(launcher, command, ranks, str(build.library), {}, "off" if WAYS[way] is None else "0")
        self.observers = None
        if WAYS[way] and WAYS[way][0]:
            self.job.find_server()
            script = pathlib.Path(__file__).with_name("observers.py")
            words = ["taskset", "-c", "1", sys.executable, script, self.job.port, self.job.token, *WAYS[way]]
            self.observers = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True)

    def wait_for_step(self, step):
        while self.job.process.poll() is None and not any(line.startswith(f"step {step} ") for line in self.job.lines[-64:]):
            time.sleep(0.002)

    def end(self):
        """(the report, what the first of the observers saw)."""
        if self.job.end(900) != 0:
            raise SystemExit("\n".join(self.job.errors))
        seen = json.loads(self.observers.communicate()[0]) if self.observers else None
        return json.loads((self.job.directory / "report.json").read_text(encoding="utf-8")), seen

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.observers:
            self.observers.kill()
            self.observers.wait()
        self.job.__exit__()


def cpu_ms(pid, thread_name=None):
    """CPU time so far of a process's main thread, or of its thread of that name."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if (task.name == str(pid)) if thread_name is None else (task / "comm").read_text().strip() == thread_name:
                return int((task / "schedstat").read_text().split()[0]) / 1e6
    return 0.0


def rank_0_of(job):
    """Its pid: of mpirun's child that runs the GPT."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rsplit(")", 1)
            if int(fields[1].split()[1]) == job.process.pid and "gpt" in fields[0]:
                return int(path.parent.name)
    raise SystemExit("the rank is not found")


def time_rank_0(build, way, steps):
    """(ms of CPU a step of the main thread, of the server's thread)."""
    command = ["taskset", "-c", "0", build.program("megascope-gpt"), *MODEL, "--steps", steps + SETTLED_STEPS]
    with Watched(build, way, 1, command, "none") as run:
        run.wait_for_step(SETTLED_STEPS - 1)
        pid = rank_0_of(run.job)
        begin = [cpu_ms(pid), cpu_ms(pid, "megascope-live")]
        run.wait_for_step(steps + SETTLED_STEPS - 2)
        end = [cpu_ms(pid), cpu_ms(pid, "megascope-live")]
        run.end()
    return [(last - first) / (steps - 1) for first, last in zip(begin, end)]


def count_rank_0(build, way, steps):
    """Instructions of the main thread in each of the last steps: callgrind dumps when one begins."""
    with tempfile.TemporaryDirectory(prefix="megascope-bench-") as directory:
        command = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--fair-sched=yes", "--dump-before=megascope_step_begin", f"--callgrind-out-file={directory}/out",
                   build.program("megascope-gpt"), *COUNTED_MODEL, "--steps", steps + COUNTED_FROM + 1]
        with Watched(build, way, 1, command, "none") as run:
            _, seen = run.end()
        if seen is not None and not any(panel.startswith("strip") for panel in seen["frames"]):
            raise SystemExit(f"{way}: no view of a tensor was shown, nothing was measured")
        dumps = {int(path.name.split(".")[1].split("-")[0]): path.read_text(encoding="utf-8") for path in pathlib.Path(directory).glob("out.*-01")}
        counts = [int(re.search(r"^totals: (\d+)", dumps[number], re.MULTILINE)[1]) for number in sorted(dumps)]
        if len(counts) != steps + COUNTED_FROM + 1:
            raise SystemExit(f"{way}: {len(counts)} dumps, and there should be one a step")
        return counts[-steps:]


def percent(ratios):
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{100 * (middle - 1):+.2f} % ({100 * (low - 1):+.2f} to {100 * (high - 1):+.2f})"


def count_all(build, steps):
    print("| rank 0's main thread | instructions a step | |\n|---|---|---|")
    counted = {way: statistics.median(count_rank_0(build, way, steps)) for way in WAYS}
    for way, count in counted.items():
        print(f"| {way} | {count / 1e6:.2f} M | {100 * (count / counted['no live view'] - 1):+.2f} % |", flush=True)


def time_all(build, rounds, steps):
    taken = {way: [] for way in WAYS}
    for number in range(rounds):
        ways = list(WAYS)
        for way in ways[number % len(ways):] + ways[:number % len(ways)]:
            taken[way].append(time_rank_0(build, way, steps))
    print("| rank 0 | CPU of the main thread a step | added: median (quartiles) | of the server's thread |\n|---|---|---|---|")
    for way, pairs in taken.items():
        ratios = [main / none for (main, _), (none, _) in zip(pairs, taken["no live view"])]
        main, server = (statistics.median(values) for values in zip(*pairs))
        print(f"| {way} | {main:.2f} ms | {percent(ratios) if way != 'no live view' else ''} | {server:.2f} ms |")


def spread_ms(values):
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return f"{cuts[49]:.2f} / {cuts[98]:.2f} ms of {len(values)}"


def ask_ranks(build, steps, rounds):
    print("| | own time of a step, slowest rank | waiting in it | view: from its tensor to a client, p50 / p99 | of it from when it was whole |\n|---|---|---|---|---|")
    for name, ranks, pin, words, bind in LAYOUTS:
        found = {way: [] for way in list(WAYS)[1:]}
        for _ in range(rounds):
            for way, each in found.items():
                with Watched(build, way, ranks, [*pin, build.program("megascope-gpt"), *MODEL, *words, "--steps", steps], bind) as run:
                    each.append(run.end())
        for way, each in found.items():
            talks = [report["step_talk"] for report, _ in each]
            own, wait = (statistics.median(talk[key] / talk["step_s"] for talk in talks) for key in ("own_s", "wait_s"))
            cells = [f"{name}, {way}", f"{100 * own:.2f} %", f"{100 * wait:.2f} %"]
            if each[0][1]:
                cells += [spread_ms([ms for _, seen in each for ms in seen[key]]) for key in ("after_shown_ms", "after_whole_ms")]
            print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--counted", type=int, default=3)
    parser.add_argument("--asked", type=int, default=3)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    if arguments.counted:
        count_all(build, arguments.counted)
    if arguments.rounds:
        time_all(build, arguments.rounds, arguments.steps)
    if arguments.asked:
        ask_ranks(build, 2 * arguments.steps, arguments.asked)


if __name__ == "__main__":
    main()
