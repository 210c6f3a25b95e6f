"""megascope export --format megascan, as a user calls it: read as MegaScan reads, and imported again.

  megascan_export_test.py MEGASCOPE
"""

import glob
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import synthetic_job  # noqa: E402
from import_case import Case  # noqa: E402

GRID = ("--tp", "2", "--pp", "2", "--dp", "2")
SIZES = "tp=2,pp=2,dp=2"


def read_as_megascan(directory):
    """What MegaScan makes of a directory: slices of {g_rk: [(name, begin, end, attributes)]} in ns, and the iterations of a file. Fails where it would."""
    workers = []
    for path in sorted(glob.glob(os.path.join(directory, "benchmark-*.json"))):
        place = re.fullmatch(r"benchmark-data-(\d+)-pipeline-(\d+)-tensor-(\d+)\.json", os.path.basename(path))
        iterations, rows = [], None
        with open(path, encoding="utf-8") as file:
            for row in json.load(file):
                if row["name"] == "iteration" and row["ph"] == "B":
                    pause, rows = row["pad_before"], []
                elif row["name"] == "iteration":
                    iterations.append((pause, row["duration_wall"], rows))
                    rows = None
                else:
                    if [row["dp_rk"], row["pp_rk"], row["tp_rk"]] != [int(index) for index in place.groups()]:
                        raise AssertionError(f"{path}: {row}")
                    rows.append(row)  # None outside of iterations: fails
        workers.append(iterations)
    if len({len(iterations) for iterations in workers}) != 1:
        raise AssertionError("numbers of iterations differ")
    slices, now = {}, 0
    for step in range(len(workers[0])):
        now += max(iterations[step][0] for iterations in workers)
        rows = sorted((row for iterations in workers for row in iterations[step][2]), key=lambda row: row["rel_ts"])
        stacks = {}
        for row in rows:
            stack = stacks.setdefault(row["g_rk"], [])
            if row["ph"] == "B":
                stack.append(row)
            elif row["ph"] == "E":
                begin = stack.pop()
                if begin["name"] != row["name"]:
                    raise AssertionError(f"{begin} is ended by {row}")
                slices.setdefault(row["g_rk"], []).append((row["name"], now + begin["rel_ts"], now + row["rel_ts"], row))
        if any(stacks.values()):
            raise AssertionError("what was begun was not ended")
        now += max(iterations[step][1] for iterations in workers)
    return slices, len(workers[0])


class Export(Case):
    def setUp(self):
        super().setUp()
        self.traces = os.path.join(self.directory, "traces")
        self.again = os.path.join(self.directory, "again")

    def synth(self, *words):
        self.call("synth", "--out", self.run_directory, *GRID, *words)

    def export(self, *words, code=0):
        return self.call("export", self.run_directory, "-f", "megascan", "-o", self.traces, *words, code=code)

    def import_again(self):
        return self.call("import", "--from", "megascan", self.traces, "--out", self.again)

    def answer(self, directory):
        """What analyze says, but for what depends on how fast the machine is and where the run lies."""
        answer = json.loads(self.call("analyze", directory, "--json", code=1).stdout)
        return {key: answer[key] for key in ("steps", "slowdown", "culprits", "matching")}

    def test_a_synthetic_run_comes_back_and_says_the_same(self):
        self.synth("--steps", "40", "--fault", "slow_compute@5,x=0.3,from=10")
        result = self.export("--parallel", SIZES)
        self.assertIn("megascan: " + self.traces + "/benchmark-data-*.json, ", result.stdout)
        self.assertIn("  no steps are annotated: the whole run is one iteration", result.stdout)
        self.assertEqual(len(os.listdir(self.traces)), 8)
        result = self.import_again()
        self.assertEqual(result.stderr, "")
        said, before = self.answer(self.again), self.answer(self.run_directory)
        self.assertEqual([cause["ranks"] for cause in before["culprits"]], [[5]])
        self.assertEqual([cause["ranks"] for cause in said["culprits"]], [[5]])
        self.assertEqual(said["matching"], before["matching"])
        self.assertEqual(said["steps"], before["steps"])

    def test_an_imported_job_comes_back_and_says_the_same(self):
        job = synthetic_job.Job(slow=(1, 0))
        self.call("import", self.write("timeline.json.gz", job.events), "--parallel", "dp=2,pp=2", "--out", self.run_directory)
        result = self.export()
        self.assertIn("calls partially overlap others of their rank", result.stdout)
        self.import_again()
        self.assertEqual(self.answer(self.again), self.answer(self.run_directory))

    def test_megascan_reads_every_operation_at_its_time(self):
        job = synthetic_job.Job(slow=(1, 0))
        traces = os.path.join(self.directory, "source")
        os.mkdir(traces)
        for (replica, stage), rows in job.megascan().items():
            self.write(f"source/benchmark-data-{replica}-pipeline-{stage}-tensor-0.json", rows)
        self.call("import", "--from", "megascan", traces, "--out", self.run_directory)
        self.export()
        slices, iterations = read_as_megascan(self.traces)
        self.assertEqual((sorted(slices), iterations), ([0, 1, 2, 3], 20))
        # MegaScan's own files have no g_rk here: a replica's stage is rank replica + 2 * stage.
        expected = {}
        now = 0
        workers = job.megascan()
        steps = {place: [] for place in workers}
        for place, rows in workers.items():
            for row in rows:
                if row["name"] == "iteration" and row["ph"] == "B":
                    steps[place].append([])
                elif row["name"] != "iteration" or row["ph"] == "E":
                    steps[place][-1].append(row)
        for step in range(20):
            now += 1000
            for (replica, stage), rows in steps.items():
                begins = []
                for row in rows[step][:-1]:
                    if row["ph"] == "B":
                        begins.append(row)
                    else:
                        begin = begins.pop()
                        expected.setdefault(replica + 2 * stage, []).append((row["name"], now + begin["rel_ts"], now + row["rel_ts"], row["micro_batch_index"]))
            now += max(rows[step][-1]["duration_wall"] for rows in steps.values())
        for rank, of_rank in slices.items():
            seen = sorted((name, row.get("micro_batch_index", -1), begin, end) for name, begin, end, row in of_rank)
            wanted = sorted((name, -1 if micro_batch is None else micro_batch, begin, end) for name, begin, end, micro_batch in expected[rank])
            self.assertEqual([slice[:2] for slice in seen], [slice[:2] for slice in wanted])
            off = {abs(a[i] - b[i]) for a, b in zip(seen, wanted) for i in (2, 3)}
            self.assertLessEqual(off, {0, 1}, "rounding made some of these overlap by 1 ns, which is cut")

    def test_megascan_finds_who_takes_part(self):
        self.synth("--steps", "3")
        self.export("--parallel", SIZES)
        slices, _ = read_as_megascan(self.traces)
        groups = {tuple(sorted([rank, *row["group"]])) for rank, of_rank in slices.items() for name, _, _, row in of_rank if name == "MPI_Allreduce"}
        self.assertEqual(groups & {(0, 1), (2, 3), (4, 5), (6, 7)}, {(0, 1), (2, 3), (4, 5), (6, 7)}, "tensor groups")
        sent = [row for of_rank in slices.values() for name, _, _, row in of_rank if name == "MPI_Send"]
        self.assertTrue(all(row["expect"] == "MPI_Recv" and len(row["group"]) == 1 and row["data"] > 0 for row in sent))

    def test_groups_must_be_known(self):
        self.synth("--steps", "2")
        result = self.export(code=2)
        self.assertIn("rank 0 has no coordinates in parallel groups", result.stderr)
        self.assertIn("--parallel tp=2,pp=2,dp=2", result.stderr)
        self.assertEqual(os.listdir(self.traces), [])
        self.assertIn("--parallel tp=2 is for 2 ranks, but the run has 8", self.export("--parallel", "tp=2", code=2).stderr)
        self.assertIn('cannot read "tp=x"', self.export("--parallel", "tp=x", code=2).stderr)

    def test_nothing_is_mixed_up_or_overwritten(self):
        self.synth("--steps", "2")
        self.export("--parallel", SIZES)
        before = {name: os.stat(os.path.join(self.traces, name)).st_mtime_ns for name in os.listdir(self.traces)}
        self.assertIn("exists already", self.export("--parallel", SIZES, code=2).stderr)
        self.assertEqual(before, {name: os.stat(os.path.join(self.traces, name)).st_mtime_ns for name in os.listdir(self.traces)})
        self.write("file", "")
        self.traces = os.path.join(self.directory, "file")
        self.assertIn(self.traces + " is not a directory", self.export("--parallel", SIZES, code=2).stderr)
        self.traces = "/proc/sys"
        self.assertRegex(self.export("--parallel", SIZES, "-j", "1", code=2).stderr, "/proc/sys/benchmark-data-0-pipeline-0-tensor-0[.]json[.][0-9a-f]{16}[.]part")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
