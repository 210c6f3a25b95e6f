"""megascope import, as a user calls it: a synthetic job from its timeline to an answer and to other formats, bad input, and
(MEGASCOPE_TEST_DATA) a real job.

  import_test.py MEGASCOPE CHECK_OTF2|-
"""

import collections
import gzip
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import synthetic_job  # noqa: E402
from import_case import Case  # noqa: E402

CHECK_OTF2 = sys.argv[2]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROCESSOR = os.path.join(ROOT, "build", "trace_processor")
TEST_DATA = os.environ.get("MEGASCOPE_TEST_DATA", "")


class SyntheticJob(Case):
    def take(self, job, name="timeline.json.gz"):
        result = self.call("import", self.write(name, job.events), "--parallel", "dp=2,pp=2", "--out", self.run_directory)
        self.assertIn("operations of 4 workers", result.stdout)

    def test_the_slow_worker_is_found_and_no_other(self):
        job = synthetic_job.Job(slow=(1, 0))
        self.take(job)
        found = self.analyze(code=1)
        self.assertEqual((found["steps"], [c["active_steps"] for c in found["culprits"]]), (20, [20]))
        self.assertEqual([(c["kind"], c["ranks"], c["groups"]) for c in found["culprits"]],
                         [("slow_compute", [1], {"dp": 1, "pp": 0})])
        self.assertAlmostEqual(found["culprits"][0]["factor"], 1.3, delta=0.06)
        matching = found["matching"]
        self.assertEqual((matching["calls"], matching["unmatched"]), (job.count(), 0))
        self.assertEqual(matching["messages"], 2 * 20 * 8 * 2)  # both ways
        self.assertEqual(matching["collectives"], 20 * 2)

    def test_a_healthy_job_is_not_blamed(self):
        self.take(synthetic_job.Job(), name="timeline.json")
        self.assertEqual(self.analyze(code=0)["culprits"], [])

    def test_chrome_shows_every_operation(self):
        job = synthetic_job.Job(slow=(1, 0))
        self.take(job)
        self.call("export", self.run_directory, "-f", "chrome", "--no-findings")
        with gzip.open(os.path.join(self.run_directory, "trace.json.gz"), "rt") as file:
            events = json.load(file)["traceEvents"]

        def seen(event, rank):
            arguments = event["args"]
            return (rank, event["name"], round(event["dur"], 2), arguments["step"], arguments.get("mb_id", arguments.get("micro_batch")))

        expected = collections.Counter(seen(e, e["pid"] + 2 * (e["tid"] // 10)) for e in job.events if e["ph"] == "X")
        self.assertEqual(collections.Counter(seen(e, e["pid"]) for e in events if e["ph"] == "X"), expected)
        phases = collections.Counter(e["ph"] for e in events)
        self.assertEqual(phases["f"], 2 * 20 * 8 * 2)

    @unittest.skipIf(CHECK_OTF2 == "-", "built without OTF2")
    def test_otf2_is_sound(self):
        job = synthetic_job.Job(slow=(1, 0))
        self.take(job)
        self.call("export", self.run_directory, "-f", "otf2")
        result = subprocess.run(["/usr/bin/python3", CHECK_OTF2, os.path.join(self.run_directory, "trace.otf2")], capture_output=True,
                                text=True, timeout=100)
        judged = json.loads(result.stdout)
        self.assertEqual((result.returncode, judged["defects"]), (0, {}))
        self.assertEqual(sum(judged["calls"].values()), job.count())
        self.assertEqual(judged["events"]["MpiSend"], 640)

    def test_perfetto_shows_every_operation(self):
        if not os.path.exists(os.path.join(PROCESSOR, "trace_processor.wasm")) or not shutil.which("node"):
            self.skipTest("there is no trace processor: tests/tools/trace_processor/fetch.sh")
        job = synthetic_job.Job(slow=(1, 0))
        self.take(job)
        self.call("export", self.run_directory, "-f", "perfetto", "--no-findings")
        query = ("select count(*) as slices, count(extract_arg(arg_set_id, 'debug.step')) as steps, "
                 "count(extract_arg(arg_set_id, 'debug.micro_batch')) as micro_batches from slice")
        result = subprocess.run(["node", os.path.join(ROOT, "tests/tools/trace_processor/query.mjs"),
                                 os.path.join(self.run_directory, "trace.perfetto-trace"), query],
                                capture_output=True, text=True, timeout=100)
        self.assertEqual(result.returncode, 0, result.stderr)
        micro_batches = sum("mb_id" in e.get("args", {}) for e in job.events)
        self.assertIn(f"{job.count()}", result.stdout)
        self.assertIn(f"{micro_batches}", result.stdout)

    def test_megascans_files(self):
        job = synthetic_job.Job(slow=(1, 0))
        traces = os.path.join(self.directory, "traces")
        os.mkdir(traces)
        count = 0
        for (replica, stage), rows in job.megascan().items():
            self.write(f"traces/benchmark-data-{replica}-pipeline-{stage}-tensor-0.json", rows)
            count += sum(row["ph"] == "E" and row["name"] != "iteration" for row in rows)
        result = self.call("import", "--from", "megascan", traces, "--out", self.run_directory)
        self.assertIn("clocks of the workers were never compared", result.stderr)
        found = self.analyze(code=1)
        self.assertEqual((found["steps"], [c["active_steps"] for c in found["culprits"]]), (20, [20]))
        matching = found["matching"]
        self.assertEqual((matching["calls"], matching["messages"], matching["collectives"], matching["unmatched"]), (count, 640, 40, 0))
        self.assertEqual([(c["kind"], c["ranks"], c["groups"]) for c in found["culprits"]], [("slow_compute", [1], {"dp": 1, "pp": 0})])

    def test_another_table_says_what_operations_are(self):
        table = json.loads(self.call("import", "--print-operations").stdout)
        for name in list(table):
            if name.startswith(("forward", "backward", "grads")):
                table["my " + name] = table.pop(name)
        job = synthetic_job.Job()
        for event in job.events:
            if event["ph"] == "X" and not event["name"].endswith("compute"):
                event["name"] = "my " + event["name"]
        self.call("import", self.write("t.json", job.events), "--operations", self.write("table.json", table), "--out", self.run_directory)
        self.assertEqual(self.analyze(code=0)["matching"]["messages"], 640)


class BadInput(Case):
    """A sentence that names the thing, exit code 2, and nothing left behind."""

    EVENT = {"ph": "X", "name": "a", "pid": 0, "tid": 0, "ts": 1, "dur": 1, "args": {"step": 1}}

    def refuse(self, source, says, *words):
        result = self.call("import", source, "--out", self.run_directory, *words, code=2)
        self.assertIn(says, result.stderr)
        self.assertIn(os.path.basename(source), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertFalse(os.path.exists(self.run_directory))

    def test_chrome(self):
        for event, says in (({**self.EVENT, "ts": "1"}, '"ts" is missing or not a number'),
                            ({**self.EVENT, "args": {"step": "x"}}, '"args.step" is not a number'),
                            ({**self.EVENT, "ts": 1e300}, '"ts" is out of range'),
                            ({**self.EVENT, "ts": float("nan")}, "invalid JSON after byte"),
                            ({**self.EVENT, "ts": float("inf")}, "invalid JSON after byte")):
            self.refuse(self.write("bad.json", [self.EVENT, event]), "event 1")
            self.refuse(self.write("bad.json", [self.EVENT, event]), says)
        self.refuse(self.write("empty.json", ""), "invalid JSON")
        self.refuse(self.write("none.json", []), "contains no operations")
        self.refuse(self.write("object.json", {}), "no array of events")
        self.refuse(os.path.join(self.directory, "nowhere.json"), "cannot open")

    def test_a_directory_for_a_file(self):
        directory = os.path.join(self.directory, "directory")
        os.mkdir(directory)
        self.refuse(directory, "cannot open")

    def test_damaged_compression(self):
        path = self.write("cut.json.gz", [dict(self.EVENT, ts=i * 7919 % 10007) for i in range(5000)])
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
        self.refuse(path, "the compressed data is damaged")

    def test_depth_costs_no_memory(self):
        levels = 20_000_000  # a tree of it would not fit into the limit
        deep = '[{"ph":"X","name":"a","pid":0,"tid":0,"ts":1,"dur":1,"args":{"x":' + "[" * levels + "]" * levels + "}}]"
        self.call("import", self.write("deep.json", deep), "--out", self.run_directory)

    def test_places_beyond_the_sizes(self):
        self.refuse(self.write("wide.json", [self.EVENT, {**self.EVENT, "pid": 4}]), "rank 4 does not fit", "--parallel", "dp=4")
        self.refuse(self.write("ids.json", [{**self.EVENT, "pid": 2**31}]), "its numbers are not ranks")

    def test_sizes_that_cannot_be_read(self):
        result = self.call("import", self.write("t.json", [self.EVENT]), "--out", self.run_directory, "--parallel", "tp=zero", code=2)
        self.assertIn('cannot read "tp=zero"', result.stderr)

    def test_an_existing_directory_stays_as_it_is(self):
        os.mkdir(self.run_directory)
        result = self.call("import", self.write("t.json", [self.EVENT]), "--out", self.run_directory, code=2)
        self.assertIn("exists already", result.stderr)
        self.assertEqual(os.listdir(self.run_directory), [])

    def test_a_bad_table(self):
        table = self.write("table.json", {"forward-send": {"kind": "gossip"}})
        result = self.call("import", self.write("t.json", [self.EVENT]), "--out", self.run_directory, "--operations", table, code=2)
        self.assertIn('table.json: operation "forward-send": kind "gossip" is unknown, the kinds are', result.stderr)

    def test_twice_and_far_apart(self):
        self.call("import", self.write("t.json", [self.EVENT, self.EVENT, {**self.EVENT, "ts": 9e14, "args": {"step": 2_000_000_000}}]),
                  "--out", self.run_directory)
        self.assertEqual(self.analyze(code=0)["matching"]["calls"], 2)

    def test_everything_at_once(self):
        path = self.write("t.json", [dict(self.EVENT, ts=i, dur=1000) for i in range(300)])
        self.refuse(path, "more than 256 operations of one track")

    def test_megascan(self):
        directory = os.path.join(self.directory, "traces")
        os.mkdir(directory)
        result = self.call("import", "--from", "megascan", directory, "--out", self.run_directory, code=2)
        self.assertIn("no benchmark-data-", result.stderr)
        rows = [{"name": "iteration", "ph": "B", "pad_before": 0}, {"name": "forward", "ph": "B"}]
        name = "benchmark-data-0-pipeline-0-tensor-0.json"
        self.write(os.path.join("traces", name), rows)
        result = self.call("import", "--from", "megascan", directory, "--out", self.run_directory, code=2)
        self.assertIn(name + ': event 1: "rel_ts" is missing', result.stderr)
        self.assertFalse(os.path.exists(self.run_directory))

    def test_a_damaged_worker_of_several(self):
        job = synthetic_job.Job(slow=(1, 0), replicas=3)
        traces = os.path.join(self.directory, "traces")
        os.mkdir(traces)
        for (replica, stage), rows in job.megascan().items():
            self.write(f"traces/benchmark-data-{replica}-pipeline-{stage}-tensor-0.json", rows)
        damaged = os.path.join(traces, "benchmark-data-2-pipeline-1-tensor-0.json")
        os.truncate(damaged, os.path.getsize(damaged) // 2)
        result = self.call("import", "--from", "megascan", traces, "--out", self.run_directory)
        self.assertIn("tensor-0.json: invalid JSON after byte", result.stderr)
        self.assertIn("this worker was omitted", result.stderr)
        self.assertIn("of 5 workers", result.stdout)
        found = self.analyze(code=1)
        self.assertEqual([c["ranks"] for c in found["culprits"]], [[1]])

    def test_without_steps_a_note_says_why_nothing_was_replayed(self):
        path = self.write("t.json", [dict(self.EVENT, pid=pid, ts=1000 * i, args={}) for pid in (0, 1) for i in range(50)])
        self.call("import", path, "--out", self.run_directory)
        found = self.analyze(code=0)
        reason = "nothing was replayed: no operation has a step number"
        self.assertEqual((found["slowdown"], found["what_if"]), (None, {"slowdown": None, "limits": [reason]}))
        self.assertIn("Note: " + reason, self.call("analyze", self.run_directory).stdout)

    def test_a_worker_that_ends_early_is_no_program_error(self):
        job = synthetic_job.Job(replicas=2)
        last = max(event["args"]["step"] for event in job.events if event["ph"] == "X")
        events = [e for e in job.events if e["ph"] != "X" or e["args"]["step"] != last or e["pid"] != 1]
        path = self.write("t.json", events)
        self.call("import", path, "--parallel", "dp=2,pp=2", "--out", self.run_directory)
        found = self.analyze(code=0)
        self.assertEqual((found["matching"]["mismatches"], found["culprits"]), ([], []))


class OwnChromeFile(Case):
    """What `megascope export --format chrome` wrote, findings and all, comes back as calls of ranks."""

    SYNTH = ("--tp", "1", "--pp", "2", "--dp", "2", "--steps", "10", "--fault", "slow_compute@1,x=0.6")

    def imported(self, *options):
        original = os.path.join(self.directory, "original")
        self.call("synth", "-o", original, *self.SYNTH)
        self.call("export", original, "-f", "chrome", *options)
        result = self.call("import", os.path.join(original, "trace.json.gz"), "--out", self.run_directory)
        return original, result

    def report(self, directory):
        return json.loads(self.call("report", directory, "--json").stdout)

    def test_calls_and_messages_are_those_of_the_run(self):
        original, result = self.imported()
        self.assertIn("waits and findings of an analysis were omitted", result.stderr)
        before, after = self.report(original), self.report(self.run_directory)
        self.assertEqual((after["ranks"], after["mpi_calls"], after["nodes"]), (4, before["mpi_calls"], before["nodes"]))
        for name, row in before["functions"].items():
            self.assertEqual(after["functions"][name]["calls"], row["calls"], name)
            self.assertAlmostEqual(after["functions"][name]["time_s"], row["time_s"], delta=1e-6 + row["calls"] * 2e-9)
        self.assertEqual([rank["calls"] for rank in after["per_rank"]], [rank["calls"] for rank in before["per_rank"]])
        self.assertEqual(after["functions"]["MPI_Allreduce"]["bytes"], before["functions"]["MPI_Allreduce"]["bytes"])

        def pairs(report):
            return sorted((pair["source"], pair["destination"], pair["messages"], pair["bytes"]) for pair in report["matrix"]["heaviest"])

        self.assertEqual(pairs(after), pairs(before))
        self.assertGreater(len(pairs(after)), 0)

    def test_the_analysis_finds_the_same(self):
        original, _ = self.imported()
        found = self.analyze(code=1)
        before = json.loads(self.call("analyze", original, "--json", code=1).stdout)
        self.assertEqual([(c["kind"], c["ranks"]) for c in found["culprits"]], [(c["kind"], c["ranks"]) for c in before["culprits"]])
        self.assertEqual(found["culprits"][0]["ranks"], [1])
        for name in ("messages", "collectives", "unmatched", "calls"):
            self.assertEqual(found["matching"][name], before["matching"][name], name)
        self.assertEqual(found["matching"]["mismatches"], [])

    def test_without_findings_it_is_the_same_run(self):
        self.imported("--no-findings")
        self.assertEqual(self.report(self.run_directory)["ranks"], 4)

    def test_damage_is_named(self):
        head = '{"otherData":{"generator":"megascope 0.1.0"},"traceEvents":['
        for event, part in (('{"ph":"X","name":"MPI_Send","cat":"p2p","pid":-1,"tid":1,"ts":0,"dur":1}', '"pid" is not a rank'),
                            ('{"ph":"X","name":"MPI_Send","cat":"p2p","pid":16777216,"tid":1,"ts":0,"dur":1}', '"pid" is not a rank'),
                            ('{"ph":"X","name":"MPI_Send","cat":"p2p","pid":0,"tid":1,"ts":-4,"dur":1}', '"ts" is missing or out of range'),
                            ('{"ph":"X","name":"MPI_Send","cat":"p2p","pid":0,"tid":1,"ts":4,"dur":"4"}', '"dur" is not a number'),
                            ('{"ph":"s","name":"message","cat":"message","id":"0x1","pid":0,"tid":1,"ts":4}', "an arrow has no call")):
            path = self.write("damaged.json", head + event + "]}")
            result = self.call("import", path, "--out", self.run_directory, code=2)
            self.assertIn("event 0: " + part, result.stderr)
            self.assertFalse(os.path.exists(self.run_directory))

    def test_arrows_without_their_other_end_are_left_out(self):
        events = [{"ph": "X", "name": "MPI_Send", "cat": "p2p", "pid": rank, "tid": 1, "ts": 0, "dur": 1} for rank in (0, 1)]
        events.insert(1, {"ph": "s", "name": "message", "cat": "message", "id": "0x1", "pid": 0, "tid": 1, "ts": 0})
        events.append({"ph": "t", "name": "collective", "cat": "collective", "id": "0x2", "pid": 1, "tid": 1, "ts": 0})
        path = self.write("half.json", {"otherData": {"generator": "megascope 0.1.0"}, "traceEvents": events})
        result = self.call("import", path, "--out", self.run_directory)
        self.assertIn("2 messages and collectives were omitted", result.stderr)
        self.assertEqual(self.report(self.run_directory)["matrix"]["messages"], 0)


class RealJob(Case):
    """64 GPUs, one worker slowed on purpose, a published verdict."""

    @unittest.skipUnless(os.path.isdir(os.path.join(TEST_DATA, "straggler_ar")), "MEGASCOPE_TEST_DATA is not set, or has no straggler_ar/")
    def test_the_published_verdict(self):
        source = os.path.join(TEST_DATA, "straggler_ar", "timeline-AR.json.gz")
        result = self.call("import", source, "--parallel", "tp=4,pp=4,dp=4", "--out", self.run_directory)
        self.assertIn("of 16 workers", result.stdout)
        found = self.analyze(code=1)
        matching = found["matching"]
        self.assertEqual((matching["calls"], matching["messages"]), (117_216, 33_792))
        self.assertEqual(set(matching["unmatched_sends"].values()) | set(matching["unmatched_receives"].values()), {0})
        self.assertAlmostEqual(found["slowdown"] / 1.973, 1.0, delta=0.01)
        self.assertEqual([(c["kind"], c["ranks"], c["groups"]) for c in found["culprits"]],
                         [("slow_compute", [0], {"tp": 0, "dp": 0, "pp": 0})])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
