"""Writes a simulated job as a directory in MegaScan's format: one file for each rank, with times in ns on the rank's clock."""

import json
import os
import random

RESOLUTION_NS = 500
RANKS_A_HOST = 8


class RankClock:
    """Converts true times to times of a rank's file: ns since the begin of its iteration, which is `skew_ns` after the true begin."""

    def __init__(self, skew_ns, drift_ppm):
        self.skew_ns, self.rate = skew_ns, 1 + drift_ppm * 1e-6

    def since(self, begin, time):
        local = (time - begin) * self.rate - self.skew_ns
        return max(0, round(local / RESOLUTION_NS) * RESOLUTION_NS)


def clocks(job):
    draw = random.Random(f"{job.seed}:clock")
    return [RankClock(round(draw.gauss(0, job.skew_us * 1000)), round(draw.gauss(0, job.drift_ppm), 4)) for _ in range(job.world)]


class RankFile:
    def __init__(self, job, directory, rank, clock):
        where = job.coordinates(rank)
        name = f"benchmark-data-{where['dp']}-pipeline-{where['pp']}-tensor-{where['tp']}.json"
        self.file = open(os.path.join(directory, name), "w", encoding="utf-8")
        self.common = {"dp_rk": where["dp"], "pp_rk": where["pp"], "tp_rk": where["tp"], "dev": rank % RANKS_A_HOST, "g_rk": rank}
        self.clock, self.rows, self.pad_ns = clock, 0, 0

    def row(self, row):
        self.file.write(",\n" if self.rows else "[\n")
        self.file.write(json.dumps(row))
        self.rows += 1

    def iteration(self, begin, rows, end, next_begin):
        self.row({"name": "iteration", "ph": "B", "pad_before": self.pad_ns})
        for name, phase, time, attributes in rows:
            self.row({**(attributes or {}), "name": name, "ph": phase, "rel_ts": self.clock.since(begin, time), **self.common})
        last = self.clock.since(begin, end)
        self.row({"name": "iteration", "ph": "E", "rel_ts": last, **self.common, "duration_wall": last, "duration_cuda": last})
        self.pad_ns = round((next_begin - end) * self.clock.rate)

    def close(self):
        self.file.write("\n]\n")
        self.file.close()


def write_directory(job, iterations, directory):
    """iterations: as yielded by timeline_model.simulate. Returns clock parameters and totals for ground_truth.json."""
    os.makedirs(directory)
    rank_clocks = clocks(job)
    files = [RankFile(job, directory, rank, clock) for rank, clock in enumerate(rank_clocks)]
    durations = []
    for begin, next_begin, ranks in iterations:
        durations.append(next_begin - begin)
        for file, (rows, end) in zip(files, ranks):
            file.iteration(begin, rows, end, next_begin)
    for file in files:
        file.close()
    return {"skew_ns": [clock.skew_ns for clock in rank_clocks], "drift_ppm": [round((clock.rate - 1) * 1e6, 4) for clock in rank_clocks],
            "rows_total": sum(file.rows for file in files), "iteration_ns_mean": sum(durations) / len(durations)}
