"""Timelines of other sources with known faults: examples of the generator that foreign_timelines.py resembles, and real jobs.

They are in a directory of test data (MEGASCOPE_TEST_DATA): `foreign/` and `straggler_ar/`. Missing ones are omitted.
"""

import dataclasses
import glob
import json
import os
import tarfile

import timeline_faults
import timeline_model
import timeline_truth


@dataclasses.dataclass
class Case:
    """A timeline. source: file or directory. arguments: of `megascope import`; empty: source is a run. truth: keys observable and
    accept. slowdown: published S."""
    name: str
    source: str
    arguments: tuple
    truth: dict
    slowdown: float | None = None
    archive: str | None = None         # unpacked at `source`
    damage: float = 0.0                # share of events to damage
    group: str = ""                    # cases with separate totals


def job_of_example(truth, seed):
    """(job, faults) of an example's ground_truth.json. The random numbers differ from those of the example."""
    job = timeline_model.Job(tp=truth["tp"], pp=truth["pp"], dp=truth["dp"], iterations=truth["iters"], micro_batches=truth["mb"],
                             layers=truth["layers"], jitter=truth["jitter"], granularity=truth["granularity"], seed=seed)
    if truth["slow_rank"] is not None:
        return job, [timeline_faults.SlowCompute([truth["slow_rank"]], truth["slow_factor"], truth["slow_from_iteration"],
                                                 truth["slow_until_iteration"])]
    link = truth["slow_link"]
    return job, [timeline_faults.SlowLink(job, link["edge"], link["dp"], link["factor"])] if link else []


def truth_of_example(archive):
    with tarfile.open(archive) as members:
        name = next(name for name in members.getnames() if name.endswith("ground_truth.json"))
        truth = json.load(members.extractfile(name))
    job, faults = job_of_example(truth, 1)
    return timeline_truth.ground_truth(job, faults, timeline_model.mean_iteration_ns(job, faults))


def examples(data, scratch):
    for archive in sorted(glob.glob(os.path.join(data, "foreign", "*.tar.xz"))):
        name = os.path.basename(archive).removesuffix(".tar.xz")
        yield Case(name, os.path.join(scratch, name), ("--from", "megascan"), truth_of_example(archive), archive=archive, group="examples")


def answer(kind, ranks):
    return {"observable": "yes", "accept": [[{"kinds": [kind], "ranks": ranks, "part": False}]]}


# Published: S and the ranks that explain it. ST: its last stage (two workers of pp 3); AR: the worker of DP 0 / PP 0.
REAL_JOBS = (("ST", "foreign/timeline-ST.json.gz", "tp=1,pp=4,dp=2", answer("stage_imbalance", [6, 7]), 1.179),
             ("AR", "straggler_ar/timeline-AR.json.gz", "tp=4,pp=4,dp=4", answer("slow_compute", [0]), 1.973))


def real_jobs(data, scratch, damage=0.0):
    for name, path, parallel, truth, slowdown in REAL_JOBS:
        source = os.path.join(data, path)
        if os.path.exists(source):
            suffix = f"-damaged-{100 * damage:g}%" if damage else ""
            copy = os.path.join(scratch, name + ".json") if damage else source
            yield Case(name + suffix, copy, ("--from", "chrome", "--parallel", parallel), truth, slowdown,
                       archive=source if damage else None, damage=damage, group="damaged" if damage else "real")
