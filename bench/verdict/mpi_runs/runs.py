"""Writes simulated runs of MPI programs and their faults as native traces.

    python3 runs.py --seeds dev --out DIRECTORY     DIRECTORY/run-5001 ... with run/ and ground_truth.json each

ground_truth.json: as in ../timeline_truth.py, with `group`: severity of the fault (10 %, 5 %), link, or healthy.
"""

import argparse
import concurrent.futures
import json
import os
import random
import shutil
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
import cases  # pylint: disable=wrong-import-position
import engine  # pylint: disable=wrong-import-position
import native_trace  # pylint: disable=wrong-import-position
import run_truth  # pylint: disable=wrong-import-position

SETS = {"dev": cases.DEV_SEEDS, "held-out": cases.HELD_OUT_SEEDS, "held-out-2": cases.SECOND_HELD_OUT_SEEDS,
        "held-out-3": cases.THIRD_HELD_OUT_SEEDS, "held-out-4": cases.FOURTH_HELD_OUT_SEEDS}


class Simulations:
    """Simulations of one job with and without faults, with the same random numbers."""

    def __init__(self, job):
        self.job, self.known, self.world = job, {}, None

    def run(self, faults):
        """Returns (ns, ns of work by rank, units of work by rank)."""
        key = json.dumps([fault.statement() for fault in faults])
        if key not in self.known:
            self.known[key] = self.simulate(faults)
        return self.known[key]

    def simulate(self, faults):
        self.job.start()
        for fault in faults:
            fault.start()
        self.world = engine.World(self.job, faults, self.job.of.comms, self.job.of.program)
        time = self.world.run()
        return time, [rank.work_ns for rank in self.world.ranks], [rank.pieces for rank in self.world.ranks]


def made(seed):
    """(plan, job, faults, Simulations)."""
    shape, plan = cases.plan_of(seed)
    job = cases.Job(shape, seed)
    simulations = Simulations(job)
    fault = None if plan == "healthy" else cases.fault_of(plan, random.Random(f"fault:{seed}"), job, simulations.run)
    return plan if fault else "healthy", job, [fault] if fault else [], simulations


def write_traces(job, world, end_ns, directory):
    os.makedirs(directory)
    for rank in world.ranks:
        described = native_trace.definitions(rank.rank, f"node{job.host(rank.rank):02}", f"/opt/programs/{job.shape}", rank.comms,
                                             job.of.groups(job, rank.rank), job.reports_steps)
        steps = rank.steps if job.reports_steps else []
        native_trace.write(os.path.join(directory, f"rank-{rank.rank}.mgt"), rank.rank, job.world, described, b"".join(rank.calls), steps,
                           round(end_ns), f"mpi-run-{job.seed}")


def directory_of(out, seed):
    return os.path.join(out, f"run-{seed}")


def write_seed(out, seed):
    """Writes one run and its ground_truth.json. Its directory is created when the run is complete."""
    plan, job, faults, simulations = made(seed)
    healthy_ns, _, _ = simulations.run([])
    time_ns, _, _ = simulations.simulate(faults)
    directory = directory_of(out, seed)
    part = directory + ".part"
    shutil.rmtree(part, ignore_errors=True)
    write_traces(job, simulations.world, time_ns, os.path.join(part, "run"))
    truth = {"case": f"{job.shape}: {plan}", "world": job.world, "steps": job.steps, "ranks_per_host": job.ranks_per_host,
             "reports_steps": job.reports_steps, "calls": sum(len(rank.calls) for rank in simulations.world.ranks),
             **run_truth.ground_truth(job, faults, healthy_ns, time_ns)}
    with open(os.path.join(part, "ground_truth.json"), "w", encoding="utf-8") as file:
        json.dump(truth, file, indent=1)
        file.write("\n")
    shutil.rmtree(directory, ignore_errors=True)
    os.rename(part, directory)
    return truth


def seeds_of(text):
    """Seeds of dev, held-out, held-out-2 to -4, 5001, or 5001-5072; several separated by commas."""
    seeds = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        seeds += SETS[word] if word in SETS else range(int(first), int(last or first) + 1)
    return seeds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds_of, default=list(SETS["dev"]))
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for done in [pool.submit(write_seed, arguments.out, seed) for seed in arguments.seeds]:
            done.result()
    print(f"{len(arguments.seeds)} runs in {arguments.out}")


if __name__ == "__main__":
    main()
