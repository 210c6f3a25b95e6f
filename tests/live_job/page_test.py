#!/usr/bin/env python3
"""What the live view's page shows of a training GPT in a browser is what the job's lines and its trace say.

  page_test.py LIBRARY MEGASCOPE GPT PAGE_DIRECTORY NODE CHROMIUM LAUNCHER...

PAGE_DIRECTORY: where the page was built, with its packages. With PICTURES_DIRECTORY=DIRECTORY a picture of the page is written there, live.png.
"""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "live"))

from job import Job, slices_of  # noqa: E402

LIBRARY, MEGASCOPE, GPT, PAGE_DIRECTORY, NODE, CHROMIUM, *LAUNCHER = sys.argv[1:]
RANKS, LAYERS, STEPS, MICRO_BATCHES = 4, 4, 200, 4
MOST_S = 150


def read_page():
    """(what the page showed, the job's lines, its trace's events). The browser is there before the job, which goes on while it looks."""
    words = [NODE, "tests/job/read_page.js"] + ([os.environ["PICTURES_DIRECTORY"]] if os.environ.get("PICTURES_DIRECTORY") else [])
    reader = subprocess.Popen(words, cwd=PAGE_DIRECTORY, env=os.environ | {"CHROMIUM": CHROMIUM}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    command = [GPT, "--tp", 2, "--pp", 2, "--hidden", 64, "--micro-batches", MICRO_BATCHES, "--steps", STEPS]
    with reader:
        try:
            assert reader.stdout.readline() == "ready\n", "the browser did not start"
            with Job(LAUNCHER, command, RANKS, LIBRARY, {"MEGASCOPE_TENSORS": "hidden@actv_out+mlp1@actv_out"}) as job:
                job.find_server()
                shown, _ = reader.communicate(f"http://127.0.0.1:{job.port}/?token={job.token}\n", MOST_S)
                assert job.end() == 0, job.errors
                assert reader.returncode == 0, "the page was not read"
                return json.loads(shown), job.lines, job.chrome(MEGASCOPE)
        finally:
            reader.kill()


def numbers_of(table):
    """Of a chart's table: step -> values, where all are known."""
    return {int(step): [float(value) for value in values] for step, *values in table[1:] if all(values)}


def cells_of(table):
    """Of a table of rows over steps: (row, step) -> value, where it is known."""
    steps = [int(step) for step in table[0][1:]]
    return {(row, step): float(value) for row, (_, *values) in enumerate(table[1:]) for step, value in zip(steps, values) if value}


class ThePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shown, cls.lines, cls.events = read_page()
        cls.steps = [slices_of(cls.events, rank, "step") for rank in range(RANKS)]

    def recorded(self, name):
        """What the trace has of a counter: rank -> values in order."""
        values = {}
        for event in self.events:
            if event["ph"] == "C" and event["name"] == name:
                values.setdefault(event["pid"], []).append(event["args"]["value"])
        return values

    def bounds_ms(self, rank, step):
        """A step is told from where it begins to where the next one does, which the library sees between the regions in the trace."""
        before, this, after = ((0, 0) if at < 0 else self.steps[rank][at] for at in (step - 1, step, step + 1))
        return (this[1] - this[0]) / 1000, (after[0] - before[1]) / 1000

    def assert_within(self, value_ms, bounds_ms, what):
        least, most = bounds_ms
        self.assertGreaterEqual(value_ms, least - 0.01, what)
        self.assertLessEqual(value_ms, most + 0.01, what)

    def test_nothing_is_complained_of_and_no_other_host_asked(self):
        self.assertEqual(self.shown["problems"], [])

    def test_it_sees_the_end(self):
        self.assertEqual(self.shown["end"], f"Run finished, {STEPS} steps")

    def test_losses_and_gradient_norms(self):
        printed = dict(re.match(r"step (\d+) loss (\S+)", line).groups() for line in self.lines if line.startswith("step "))
        for chart, name in (("counter-0", "loss"), ("counter-1", "gradient_norm")):
            table = self.shown["run"][chart]
            self.assertEqual(table[0], ["step", name])
            shown = {step: value for step, (value,) in numbers_of(table).items()}
            self.assertGreater(len(shown), 15)
            self.assertEqual(shown, {step: self.recorded(name)[0][step] for step in shown})
            if name == "loss":
                for step, value in shown.items():
                    self.assertAlmostEqual(value, float(printed[str(step)]), delta=1e-4 * value)

    def test_step_times_of_the_run(self):
        self.assertEqual(self.shown["run"]["step-time"][0], ["step", "least", "median", "most"])
        self.assertGreaterEqual(self.shown["run"]["points"], 20)
        shown = numbers_of(self.shown["run"]["step-time"])
        self.assertGreater(len(shown), 15)
        for step, (least, median, most) in shown.items():
            bounds = [sorted(ends) for ends in zip(*(self.bounds_ms(rank, step) for rank in range(RANKS)))]
            self.assert_within(least, [ends[0] for ends in bounds], (step, "least"))
            self.assert_within(median, [(ends[1] + ends[2]) / 2 for ends in bounds], (step, "median"))
            self.assert_within(most, [ends[3] for ends in bounds], (step, "most"))

    def test_times_of_ranks(self):
        compute, mpi = (cells_of(self.shown["ranks"][name]) for name in ("compute", "mpi"))
        self.assertEqual({rank for rank, _ in mpi}, set(range(RANKS)))
        self.assertGreater(len(mpi), 60)
        self.assertEqual(compute.keys(), mpi.keys())
        calls = [slices_of(self.events, rank) for rank in range(RANKS)]
        apart = []
        for (rank, step), mpi_ms in mpi.items():
            self.assert_within(compute[rank, step] + mpi_ms, self.bounds_ms(rank, step), (rank, step))
            begin, end = self.steps[rank][step]
            in_calls_ms = sum(last - first for first, last in calls[rank] if begin <= first < end) / 1000
            apart.append(abs(mpi_ms - in_calls_ms) / (compute[rank, step] + mpi_ms))
        self.assertLess(sorted(apart)[len(apart) // 2], 0.01, "of the step, the median")

    def test_numbers_of_a_cell(self):
        chosen = self.shown["ranks"]["chosen"]
        rank, step = map(int, re.fullmatch(r"Rank (\d+), step (\d+)", chosen["title"]).groups())
        self.assertEqual(rank, 2)
        ms = {name: float(chosen[name].removesuffix(" ms")) for name in ("step_ms", "compute_ms", "mpi_ms")}
        for name in ("compute", "mpi"):
            expected = cells_of(self.shown["ranks"][name])[rank, step]
            self.assertAlmostEqual(ms[f"{name}_ms"], expected, delta=1e-3 * expected)
        self.assertAlmostEqual(ms["step_ms"], ms["compute_ms"] + ms["mpi_ms"], delta=2e-3 * ms["step_ms"])

    def test_a_statistic_of_a_tensor(self):
        shown = cells_of(self.shown["tensors"]["statistics"])
        self.assertGreater(len(shown), 60)
        for layer in range(LAYERS):
            (recorded,) = self.recorded(f"hidden/layer {layer}/actv_out/global norm").values()
            for (row, step), value in shown.items():
                if row == layer:
                    self.assertAlmostEqual(value, recorded[step], delta=1e-6 * value)

    def test_cells_of_a_strip(self):
        """Norms of tiles: all together the tensor's, of the first micro-batch, whose two halves two ranks hold."""
        for layer, strip in enumerate(self.shown["tensors"]["strips"]):
            told = re.match(r"mlp1, layer (\d+), step (\d+), .*norm of elements \d+–\d+: (\S+)$", strip["told"])
            self.assertIsNotNone(told, strip["told"])
            self.assertEqual(int(told[1]), layer)
            rows = [[float(value) for value in values] for _, *values in strip["cells"][1:]]
            self.assertAlmostEqual(float(told[3]), rows[1][-1], delta=1e-3 * rows[1][-1])
            halves = [values[MICRO_BATCHES * int(told[2])] for values in self.recorded(f"mlp1/layer {layer}/actv_out/norm").values()]
            self.assertEqual(len(halves), 2)
            norm = math.sqrt(sum(value * value for row in rows for value in row))
            self.assertAlmostEqual(norm, math.hypot(*halves), delta=1e-3 * norm)


if __name__ == "__main__":
    if not (pathlib.Path(PAGE_DIRECTORY) / "node_modules").exists() or not CHROMIUM or CHROMIUM.endswith("NOTFOUND") or NODE.endswith("NOTFOUND"):
        print("SKIPPED: chromium, node or the page's packages are not there")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
