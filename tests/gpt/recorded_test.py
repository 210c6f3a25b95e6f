"""The GPT recorded: it trains as without the library, and what it tells is in the report, OTF2, Perfetto and the analysis.

  recorded_test.py MEGASCOPE_GPT MEGASCOPE TOOLS TRACE_PROCESSOR MPIRUN...
"""

import gzip
import json
import math
import os
import re
import shutil
import subprocess
import sys

SCRIPT, GPT, MEGASCOPE, TOOLS, PROCESSOR, *MPIRUN = sys.argv
sys.argv = [SCRIPT, GPT, *MPIRUN]
sys.path.insert(0, TOOLS)
import launch  # noqa: E402
import program  # noqa: E402
import timeline_text  # noqa: E402

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")
QUERY = os.path.join(TOOLS, "trace_processor", "query.mjs")
GPT_PAGE = os.path.join(TOOLS, "..", "..", "docs", "gpt.md")
STEPS, MICRO_BATCHES, LAYERS = 6, 2, 4
WORDS = ["--steps", STEPS, "--micro-batches", MICRO_BATCHES, "--layers", LAYERS, "--hidden", 32, "--heads", 2, "--sequence", 16]


class Recorded(program.Case):
    def record(self, words=(), split=(1, 2, 2), **settings):
        """Losses by step. split: dp, tp, pp."""
        dp, tp, pp = split
        settings = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_OUT": self.path("run"), "MEGASCOPE_EXPORT": "none", "MEGASCOPE_REPORT": "off", **settings}
        launcher = [*MPIRUN, *launch.setting(MPIRUN, **settings), "-n", dp * tp * pp]
        command = [*launcher, GPT, "--dp", dp, "--tp", tp, "--pp", pp, *WORDS, *words]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=program.TIME_LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {int(step): float(loss) for step, loss in re.findall(r"^step (\d+) loss (\S+)$", done.stdout, re.MULTILINE)}

    def command(self, *words):
        """A finding is exit code 1."""
        done = subprocess.run([MEGASCOPE, *words], capture_output=True, text=True, check=False, timeout=program.TIME_LIMIT_S)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def report(self):
        return json.loads(self.command("report", self.path("run"), "--json"))

    def need_trace_processor(self):
        if not os.path.exists(os.path.join(PROCESSOR, "trace_processor.wasm")) or not shutil.which("node"):
            self.skipTest("there is no trace processor: tests/tools/trace_processor/fetch.sh")
        os.environ["TRACE_PROCESSOR"] = PROCESSOR

    def query(self, sql):
        self.need_trace_processor()
        return timeline_text.ask(QUERY, self.path("run/trace.perfetto-trace"), sql)[0]

    def counters(self):
        """Of the Chrome trace: name -> its values in order of time."""
        name = next(name for name in os.listdir(self.path("run")) if name.startswith("trace.json"))
        opened = gzip.open if name.endswith(".gz") else open
        with opened(self.path("run/" + name), "rt", encoding="utf-8") as file:
            events = json.load(file)
        events = events["traceEvents"] if isinstance(events, dict) else events
        found = {}
        for event in sorted((event for event in events if event["ph"] == "C"), key=lambda event: event["ts"]):
            found.setdefault(event["name"], []).append(next(iter(event["args"].values())))
        return found

    def test_it_trains_as_without_the_library(self):
        bare, _ = self.run_gpt(WORDS, dp=1, tp=2, pp=2)
        self.assertEqual(self.record(MEGASCOPE_TRACE="full", MEGASCOPE_TENSORS="*"), bare)

    def test_the_report_counts_what_was_told(self):
        self.record()
        report = self.report()
        found = {name: row["count"] for name, row in report["regions"].items()}
        per_rank = 4 * STEPS
        layers = 2 * 2 * LAYERS * MICRO_BATCHES * STEPS  # on both tp ranks, forward and backward
        self.assertEqual(found, {"step": per_rank, "forward": per_rank * MICRO_BATCHES, "backward": per_rank * MICRO_BATCHES, "layer": layers,
                                 "gradient sum": per_rank, "optimizer": per_rank})
        self.assertEqual(sum(report["losses"].values()), 0, report["losses"])

    def test_otf2_has_the_losses_that_were_printed(self):
        losses = self.record(MEGASCOPE_EXPORT="otf2")
        judged = subprocess.run(["/usr/bin/python3", os.path.join(TOOLS, "check_otf2.py"), self.path("run/trace.otf2")], capture_output=True,
                                text=True, check=False)
        self.assertEqual(judged.returncode, 0, judged.stdout[-2000:] + judged.stderr[-2000:])
        printed = subprocess.run(["otf2-print", self.path("run/trace.otf2")], capture_output=True, text=True, check=True).stdout
        found = [float(value) for value in re.findall(r'^METRIC .*"loss".*; ([0-9.e+-]+)\)', printed, re.MULTILINE)]
        self.assertEqual([f"{value:.5g}" for value in found], [f"{loss:.5g}" for loss in losses.values()])

    def test_perfetto_shows_steps_layers_messages_and_counters(self):
        losses = self.record(MEGASCOPE_EXPORT="perfetto")
        counters = self.query("select t.name as name, c.value as value from counter c join counter_track t on c.track_id = t.id order by c.ts")
        found = [row["value"] for row in counters if row["name"] == "loss"]
        self.assertEqual(len(found), STEPS)
        for value, loss in zip(found, losses.values()):
            self.assertTrue(math.isclose(value, loss, rel_tol=1e-6), (value, loss))
        self.assertTrue(all(row["value"] > 0 for row in counters if row["name"] == "gradient_norm"))
        self.assertEqual(sum(row["name"] == "gradient_norm" for row in counters), STEPS)
        nested = self.query("select s.name as name, p.name as parent, count(*) as n from slice s join slice p on s.parent_id = p.id "
                            "where s.name in ('forward', 'layer', 'optimizer') group by 1, 2 order by 1, 2")
        layers = 2 * LAYERS * MICRO_BATCHES * STEPS
        self.assertEqual([(row["name"], row["parent"], int(row["n"])) for row in nested],
                         [("forward", "step", 4 * MICRO_BATCHES * STEPS), ("layer", "backward", layers), ("layer", "forward", layers),
                          ("optimizer", "step", 4 * STEPS)])
        # The trace processor has each arrow begin at the slice that began first: often the receive.
        arrows = self.query("select p.name as inside, count(*) as n from flow f join slice s on s.id in (f.slice_in, f.slice_out) "
                            "join slice p on s.parent_id = p.id where s.name = 'MPI_Recv' group by 1 order by 1")
        sent = 2 * MICRO_BATCHES * STEPS  # from the first stage to the second, by both tp ranks
        self.assertEqual([(row["inside"], int(row["n"])) for row in arrows], [("backward", sent), ("forward", sent)])

    def test_the_page_on_the_gpt_shows_the_timeline_of_the_demo(self):
        self.need_trace_processor()
        settings = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_OUT": self.path("run"), "MEGASCOPE_EXPORT": "perfetto", "MEGASCOPE_REPORT": "off"}
        command = [*MPIRUN, *launch.setting(MPIRUN, **settings), "-n", "4", GPT, "--tp", "2", "--pp", "2", "--steps", "40"]
        subprocess.run(command, capture_output=True, check=True, timeout=program.TIME_LIMIT_S)
        found = timeline_text.text_of(QUERY, self.path("run/trace.perfetto-trace"))
        with open(GPT_PAGE, encoding="utf-8") as file:
            shown = re.findall(r"```text\n(.*?)\n```", file.read(), re.DOTALL)
        self.assertIn(found, shown, found)

    def test_statistics_of_tensors_are_those_of_the_checkpoint(self):
        self.record(["--checkpoint", self.path("gpt.ckpt")], split=(1, 1, 1), MEGASCOPE_EXPORT="chrome",
                    MEGASCOPE_TENSORS="layers.2.mlp1.weight")
        _, tensors = program.read_checkpoint(self.path("gpt.ckpt"))
        shape, values = tensors["layers.2.mlp1.weight"]
        norm = math.sqrt(sum(value * value for value in values))
        found = self.counters()
        last = {what: found[f"layers.2.mlp1.weight/layer 2/weight_updated/{what}"][-1] for what in ("count", "nan", "infinite", "min", "max", "norm")}
        self.assertEqual(last["count"], math.prod(shape))
        self.assertEqual((last["nan"], last["infinite"]), (0, 0))
        self.assertEqual((last["min"], last["max"]), (min(values), max(values)))
        self.assertTrue(math.isclose(last["norm"], norm, rel_tol=1e-12), (last["norm"], norm))

    def test_the_norm_over_all_ranks_is_the_one_that_clips(self):
        """Weights split over tp count once each, copies over dp and on both tp ranks count once."""
        self.record(split=(2, 2, 1), MEGASCOPE_EXPORT="chrome", MEGASCOPE_TENSORS="*")
        found = self.counters()
        told, merged = found["gradient_norm"], found["all/grad_reduced/global norm"]
        self.assertEqual((len(told), len(merged)), (STEPS, STEPS))
        for step, (norm, over_all) in enumerate(zip(told, merged)):
            self.assertTrue(math.isclose(norm, over_all, rel_tol=1e-12), (step, norm, over_all))

    def test_a_window_keeps_its_steps_only(self):
        self.record(MEGASCOPE_STEP_START="1", MEGASCOPE_STEP_INTERVAL="3", MEGASCOPE_EXPORT="perfetto")
        rows = self.query("select a.int_value as step, count(*) as n from slice s join args a on s.arg_set_id = a.arg_set_id "
                          "where s.name = 'step' and a.key glob '*step' group by 1 order by 1")
        self.assertEqual([(int(row["step"]), int(row["n"])) for row in rows], [(1, 4), (4, 4)])

    def test_the_analysis_judges_its_steps_and_groups(self):
        self.record()
        found = json.loads(self.command("analyze", self.path("run"), "--json"))
        self.assertEqual(found["steps"], STEPS)
        self.assertEqual(found["matching"]["unmatched"], 0)

    def test_megascan_files_have_its_steps_and_groups(self):
        self.record()
        self.command("export", self.path("run"), "--format", "megascan", "--out", self.path("megascan"))
        for tp in range(2):
            for pp in range(2):
                with open(self.path(f"megascan/benchmark-data-0-pipeline-{pp}-tensor-{tp}.json"), encoding="utf-8") as file:
                    rows = json.load(file)
                began = [row["name"] for row in rows if row["ph"] == "B"]
                self.assertEqual((began.count("iteration"), began.count("forward")), (STEPS, MICRO_BATCHES * STEPS))
                self.assertEqual(began.count("MPI_Recv"), MICRO_BATCHES * STEPS)
                self.assertEqual(began.count("MPI_Comm_split"), 0, "before the first step")


if __name__ == "__main__":
    program.main()
