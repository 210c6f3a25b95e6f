"""Writes timelines of training jobs and their faults, as directories that `megascope import --from megascan` reads.

    python3 foreign_timelines.py --seeds dev --out DIRECTORY     DIRECTORY/seed-0001 ... with ground_truth.json each
"""

import argparse
import concurrent.futures
import json
import os
import shutil

import timeline_cases
import timeline_files
import timeline_model
import timeline_truth

SETS = {"dev": timeline_cases.DEV_SEEDS, "held-out": timeline_cases.HELD_OUT_SEEDS, "held-out-2": timeline_cases.SECOND_HELD_OUT_SEEDS,
        "held-out-3": timeline_cases.THIRD_HELD_OUT_SEEDS, "held-out-4": timeline_cases.FOURTH_HELD_OUT_SEEDS}
FIELDS = ("tp", "pp", "dp", "iterations", "micro_batches", "layers", "world", "jitter", "granularity", "seed")


def directory_of(out, seed):
    return os.path.join(out, f"seed-{seed:04}")


def write_timeline(name, job, faults, directory):
    """Writes one run and its ground_truth.json. `directory` is created when the run is complete."""
    part = directory + ".part"
    shutil.rmtree(part, ignore_errors=True)
    written = timeline_files.write_directory(job, timeline_model.simulate(job, faults), part)
    truth = {"case": name, **{field: getattr(job, field) for field in FIELDS}, **written,
             **timeline_truth.ground_truth(job, faults, written["iteration_ns_mean"])}
    with open(os.path.join(part, "ground_truth.json"), "w", encoding="utf-8") as file:
        json.dump(truth, file, indent=1)
        file.write("\n")
    shutil.rmtree(directory, ignore_errors=True)
    os.rename(part, directory)
    return truth


def write_seed(out, seed):
    return write_timeline(*timeline_cases.case_of(seed), directory_of(out, seed))


def seeds_of(text):
    """Seeds of dev, held-out, held-out-2 to -4, 5, or 1-60; several separated by commas."""
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
        pending = {pool.submit(write_seed, arguments.out, seed): seed for seed in arguments.seeds}
        for done in concurrent.futures.as_completed(pending):
            done.result()
    print(f"{len(arguments.seeds)} timelines in {arguments.out}")


if __name__ == "__main__":
    main()
