"""Timelines of real jobs (MEGASCOPE_TEST_DATA), of whose events 0.1 % are damaged at random: they are mended, counted by kind, and the analysis
answers as it does on the whole ones. Of a synthetic job: more than 1 %, and --strict.

  damage_test.py MEGASCOPE
"""

import gzip
import json
import os
import random
import sys
import tarfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import synthetic_job  # noqa: E402
from import_case import Case  # noqa: E402

TEST_DATA = os.environ.get("MEGASCOPE_TEST_DATA", "")


def flip(event, _):
    event["dur"] = -event["dur"] if event["dur"] else -0.031
    return [event]


def turn_slightly_negative(event, _):
    """As a real job of this format had it: ends of communication 27 to 37 µs before their begin."""
    event["dur"] = -0.0005 * event["dur"] - 27.0
    return [event]


def lose_duration(event, _):
    del event["dur"]
    return [event]


def lose_end(event, _):
    del event["dur"]
    return [{**event, "ph": "B"}]


def lose_begin(event, _):
    return [{"ph": "E", "name": event["name"], "pid": event["pid"], "tid": event["tid"], "ts": event["ts"] + event["dur"]}]


def double(event, _):
    return [event, dict(event)]


def change_step(event, rng):
    event["args"] = {**event["args"], "step": event["args"]["step"] + rng.choice((-7, -3, 5, 1000))}
    if event["args"]["step"] < 0:
        event["args"]["step"] += 100
    return [event]


def run_into_the_next(event, rng):
    event["dur"] *= 1 + 0.5 * rng.random()
    return [event]


WAYS = {"negative_duration": flip, "negative_duration (slightly)": turn_slightly_negative, "missing_duration": lose_duration, "missing_end": lose_end,
        "missing_begin": lose_begin, "duplicate": double, "step_order": change_step, "overlap": run_into_the_next}
KINDS = ("negative_duration", "missing_duration", "missing_end", "missing_begin", "duplicate", "step_order")


def any_of_them(event, rng):
    return rng.choice(tuple(way for name, way in WAYS.items() if name != "mixed"))(event, rng)


WAYS["mixed"] = any_of_them


def damaged(events, way, share, seed):
    """Copies of the events, some of the operations among them damaged, and how many."""
    rng = random.Random(seed)
    operations = [i for i, event in enumerate(events) if event["ph"] == "X"]
    chosen = set(rng.sample(operations, max(round(share * len(operations)), 2)))
    result = []
    for i, event in enumerate(events):
        result.extend(way(dict(event), rng) if i in chosen else [event])
    return result, len(chosen)


class Damage(Case):
    def read(self, *path):
        source = os.path.join(TEST_DATA, *path)
        if not os.path.isfile(source):
            self.skipTest(f"MEGASCOPE_TEST_DATA is not set, or has no {path[0]}/")
        with gzip.open(source, "rt") as file:
            return json.load(file)

    def answer(self, events, sizes, *words):
        self.run_directory = os.path.join(self.directory, f"run{len(os.listdir(self.directory))}")
        result = self.call("import", self.write("t.json", events), "--parallel", sizes, "--out", self.run_directory, *words)
        found = json.loads(self.call("analyze", self.run_directory, "--json", code=1).stdout)
        with open(os.path.join(self.run_directory, "import.json"), encoding="utf-8") as file:
            stored = json.load(file)
        self.assertEqual(found["import"]["repairs"], {kind: repair["count"] for kind, repair in stored["repairs"].items()})
        for note in stored["notes"]:
            self.assertIn(note, result.stderr)
        return found, stored

    @staticmethod
    def who(found):
        first = found["culprits"][0]
        return first["kind"], first["ranks"], first["groups"]

    def check(self, path, sizes, seeds, ways=tuple(WAYS)):
        events = self.read(*path)
        whole, stored = self.answer(events, sizes)
        self.assertEqual(stored["repaired"], 0)
        for way in ways:
            for seed in seeds:
                with self.subTest(way=way, seed=seed):
                    changed, count = damaged(events, WAYS[way], 0.001, seed)
                    found, stored = self.answer(changed, sizes)
                    kind = way.split()[0]
                    if kind in ("negative_duration", "missing_duration", "missing_end", "missing_begin", "duplicate"):
                        self.assertEqual(stored["repairs"][kind]["count"], count)
                        self.assertEqual(stored["repaired"], count)
                    self.assertLessEqual(stored["repaired"], count)
                    self.assertAlmostEqual(found["slowdown"] / whole["slowdown"], 1.0, delta=0.01)
                    self.assertEqual(self.who(found), self.who(whole))

    def test_a_job_of_64_gpus(self):
        self.check(("straggler_ar", "timeline-AR.json.gz"), "tp=4,pp=4,dp=4", (1,))

    def test_a_job_of_64_gpus_with_mixed_damage(self):
        self.check(("straggler_ar", "timeline-AR.json.gz"), "tp=4,pp=4,dp=4", (2, 3), ("mixed",))

    def test_a_job_of_8_gpus(self):
        self.check(("foreign", "timeline-ST.json.gz"), "tp=1,pp=4,dp=2", (1, 2, 3))


def lose(rows, i):
    rows[i] = None


def repeat(rows, i):
    rows[i] = [rows[i], dict(rows[i])]


def end_early(rows, i):
    rows[i] = {**rows[i], "rel_ts": max(rows[i]["rel_ts"] - 3_000_000, 0)}


class MegascanDamage(Case):
    """A job of 16 ranks with an end before its begin here, a row that is missing or doubled there, in each file 0.1 % of the rows."""

    WAYS = {"missing_end": (lose, "E"), "missing_begin": (lose, "B"), "duplicate": (repeat, "B"), "duplicate (of ends)": (repeat, "E"),
            "negative_duration": (end_early, "E")}

    def read(self):
        source = os.path.join(TEST_DATA, "foreign", "rank1_x1.1.tar.xz")
        if not os.path.isfile(source):
            self.skipTest("MEGASCOPE_TEST_DATA is not set, or has no foreign/")
        with tarfile.open(source) as archive:
            members = [member for member in archive.getmembers() if "benchmark-data-" in member.name]
            return {os.path.basename(member.name): json.load(archive.extractfile(member)) for member in members}

    def answer(self, files):
        traces = os.path.join(self.directory, f"traces{len(os.listdir(self.directory))}")
        os.mkdir(traces)
        for name, rows in files.items():
            whole = [row for rows_here in rows for row in (rows_here if isinstance(rows_here, list) else [rows_here]) if row is not None]
            self.write(os.path.join(traces, name), whole)
        self.run_directory = traces + ".run"
        self.call("import", traces, "--out", self.run_directory)
        return json.loads(self.call("analyze", self.run_directory, "--json", code=(0, 1)).stdout)

    def check(self, found, whole, kind, count):
        self.assertEqual(found["matching"]["unmatched"], whole["matching"]["unmatched"])
        self.assertAlmostEqual(found["slowdown"] / whole["slowdown"], 1.0, delta=0.01)
        self.assertEqual([c["ranks"] for c in found["culprits"]], [c["ranks"] for c in whole["culprits"]])
        repairs = found["import"]["repairs"]
        self.assertLessEqual(repairs[kind], count)
        self.assertEqual(set(repairs) - {"overlap", kind}, set())

    def test_rows(self):
        files = self.read()
        whole = self.answer(files)
        self.assertEqual(set(whole["import"]["repairs"]) - {"overlap"}, set())
        for way, (damage, phase) in self.WAYS.items():
            with self.subTest(way=way):
                rng = random.Random(1)
                changed = {name: list(rows) for name, rows in files.items()}
                count = 0
                for rows in changed.values():
                    places = [i for i, row in enumerate(rows) if row["ph"] == phase and row["name"] != "iteration"]
                    for i in rng.sample(places, round(0.001 * len(rows))):
                        damage(rows, i)
                        count += 1
                self.check(self.answer(changed), whole, way.split()[0], count)

    def test_iterations(self):
        files = self.read()
        whole = self.answer(files)
        for kind, phase in (("missing_begin", "B"), ("missing_end", "E")):
            with self.subTest(kind=kind):
                changed = {name: list(rows) for name, rows in files.items()}
                for number, name in enumerate(sorted(changed)[:2]):
                    places = [i for i, row in enumerate(changed[name]) if row["ph"] == phase and row["name"] == "iteration"]
                    del changed[name][places[5 + number]]
                self.check(self.answer(changed), whole, kind, 2)


class Limits(Case):
    """A synthetic job of 2 × 2 workers."""

    def refuse(self, events, says, *words):
        path = self.write("t.json", events)
        result = self.call("import", path, "--parallel", "dp=2,pp=2", "--out", self.run_directory, *words, code=2)
        self.assertIn(says, result.stderr)
        self.assertFalse(os.path.exists(self.run_directory))
        return result.stderr

    def test_more_than_a_hundredth_is_refused(self):
        job = synthetic_job.Job(slow=(1, 0))
        for way in ("negative_duration", "missing_duration", "duplicate"):
            events, count = damaged(job.events, WAYS[way], 0.02, 1)
            self.assertIn("more than 1 %", self.refuse(events, f"{count} of "))

    def test_strict_refuses_the_first(self):
        job = synthetic_job.Job(slow=(1, 0))
        for kind in KINDS:
            events, _ = damaged(job.events, WAYS[kind], 0.0015, 1)
            self.refuse(events, "--strict forbids it", "--strict")
        self.call("import", self.write("t.json", job.events), "--parallel", "dp=2,pp=2", "--out", self.run_directory, "--strict")

    def test_analyze_shows_what_was_mended(self):
        events, count = damaged(synthetic_job.Job(slow=(1, 0)).events, flip, 0.002, 1)
        self.call("import", self.write("t.json", events), "--parallel", "dp=2,pp=2", "--out", self.run_directory)
        self.assertIn(f"Note on the import: {count} operations end before they begin", self.call("analyze", self.run_directory, code=1).stdout)
        repairs = self.analyze(code=1)["import"]["repairs"]
        self.assertEqual({kind: number for kind, number in repairs.items() if kind != "overlap"}, {"negative_duration": count})

    def test_a_run_that_was_not_imported_says_nothing_of_it(self):
        self.call("synth", "-o", self.run_directory, "--tp", "1", "--pp", "2", "--dp", "2", "--steps", "5")
        self.assertIsNone(json.loads(self.call("analyze", self.run_directory, "--json").stdout)["import"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
