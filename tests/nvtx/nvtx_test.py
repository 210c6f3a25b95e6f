"""NVTX, end to end: annotated programs, recorded with and without MPI, preloaded and not, through the readers of every format.

  nvtx_test.py MEGASCOPE ANNOTATED ANNOTATED_ALONE SCOPED TOOLS TRACE_PROCESSOR MPIRUN...
"""

import os
import shutil
import sys

MEGASCOPE, ANNOTATED, ALONE, SCOPED, TOOLS, PROCESSOR, *MPIRUN = sys.argv[1:]
sys.path.insert(0, TOOLS)
import recorded_case  # noqa: E402
import reported_skips  # noqa: E402

STEPS = 5
WIDE = "gr\u00f6\u00dfe \u2264 \U0001F600"


class Case(recorded_case.Case):
    megascope, mpirun, processor = MEGASCOPE, MPIRUN, PROCESSOR

    def settings(self, preload=True, **more):
        loaded = super().settings(**{"NVTX_INJECTION64_PATH": self.library, **more})
        if not preload:
            del loaded["LD_PRELOAD"]
        return loaded

    def record(self, *words, ranks=2, **more):
        return self.record_ranks(ranks, ANNOTATED, *words, **more)

    def record_alone(self, *words, program=ALONE, code=0, **more):
        return self.call(program, *words, code=code, **self.settings(**more))

    def counts(self, report):
        return {name: count for name, count in super().counts(report).items() if name != "probe"}


PLAIN = {"train": STEPS, "solver:factorize": STEPS, WIDE: STEPS, "backward": STEPS}


class WithMpi(Case):
    def test_ranges_are_regions_around_the_calls_of_mpi(self):
        self.assertEqual(self.record(STEPS).splitlines(), ["recorded 1"] * 2)
        for report in (self.report(), self.stored_report()):
            self.assertEqual(self.counts(report), {name: 2 * count for name, count in PLAIN.items()})
            self.assertEqual(report["functions"]["MPI_Barrier"]["calls"], 2 * (STEPS + 1))
            self.assertEqual(sum(report["losses"].values()), 0)
            times = {name: row["time_s"] for name, row in report["regions"].items()}
            self.assertLess(times[WIDE], times["solver:factorize"])
            self.assertLess(times["solver:factorize"], times["train"])

    def test_where_it_is_not_asked_for_nothing_is_recorded(self):
        for settings in ({"MEGASCOPE_TRACE": "calls"}, {"NVTX_INJECTION64_PATH": "/nowhere/tool.so"}):
            self.run_directory = os.path.join(self.directory, next(iter(settings)))
            said = self.record(STEPS, **settings)
            self.assertEqual(said.splitlines(), ["recorded 0"] * 2)
            self.assertEqual(self.report()["regions"], {})
        self.assertEqual(self.call(*MPIRUN, "-n", "2", ANNOTATED, "1").splitlines(), ["recorded 0"] * 2)

    def test_steps_that_ranges_cross_are_those_that_are_judged(self):
        self.record(12, "steps")
        analyzed = self.analyzed()
        self.assertEqual((analyzed["steps"], analyzed["steps_are"]), (12, "told"))

    def test_ranges_before_mpi_and_after_it_are_ignored(self):
        self.record(1, "early", ranks=1)
        self.assertEqual(self.counts(self.report()), {})
        self.assertEqual(self.stored_report()["losses"]["unbalanced"], 1)  # pushed before, popped behind MPI_Init

    def test_a_program_that_is_not_preloaded_is_recorded_without_its_calls(self):
        self.record(STEPS, preload=False)
        self.assertIn("MPI calls are not recorded", self.said)
        self.assertNotIn("cannot be seen", self.said)
        parts = [os.path.join(self.directory, name, part) for name in os.listdir(self.directory) for part in os.listdir(os.path.join(self.directory, name))
                 if part.startswith("solo-")]
        self.assertEqual(sorted(os.path.basename(part) for part in parts), ["solo-0", "solo-1"])
        joined = os.path.join(self.directory, "joined")
        self.call(MEGASCOPE, "join", *parts, "-o", joined)
        report = self.report(joined)
        self.assertEqual(self.counts(report), {name: 2 * count for name, count in PLAIN.items()})
        self.assertEqual(report["functions"], {})

    def test_otf2_and_perfetto_have_all(self):
        self.record(STEPS, ranks=1, MEGASCOPE_TRACE="full", MEGASCOPE_EXPORT="otf2+perfetto")
        self.judge_otf2()
        rows = self.query("select s.name as name, s.category as category, count(*) as count from slice s where s.category != 'coll' "
                          "group by 1, 2 order by 1")
        found = {row["name"]: (row["category"], row["count"]) for row in rows}
        self.assertEqual({name: found.get(name) for name in PLAIN},
                         {"train": ("nvtx", STEPS), "solver:factorize": ("numerics", STEPS), WIDE: ("nvtx", STEPS), "backward": ("nvtx", STEPS)})
        rows = self.query("select a.key as key, a.int_value as whole, a.real_value as real from args a join slice s on s.arg_set_id = a.arg_set_id "
                          "where s.name in ('train', 'solver:factorize') and a.key like '%payload%' order by s.ts")
        values = [row["whole"] if row["whole"] is not None else row["real"] for row in rows]
        self.assertEqual(values, [value for step in range(STEPS) for value in (step - 1, step + 0.5)])


class Alone(Case):
    def test_numbers_colors_and_categories_in_full(self):
        self.record_alone(STEPS, preload=False, MEGASCOPE_TRACE="full")
        arguments = [(event["name"], event["cat"], event.get("args", {})) for event in self.events() if event["ph"] == "X"][1:]
        one = lambda step: [("train", "nvtx", {"payload": step - 1, "argb": 0xFF336699}),  # noqa: E731
                            ("solver:factorize", "numerics", {"real_payload": step + 0.5, "category": 7}), (WIDE, "nvtx", {}), ("backward", "nvtx", {})]
        self.assertEqual(arguments, [row for step in range(STEPS) for row in one(step)])
        self.assertEqual([event["name"] for event in self.events() if event["ph"] == "i"], ["checkpoint"])

    def test_preloaded_named_or_both_is_the_same(self):
        for preload in (False, True):
            self.run_directory = os.path.join(self.directory, str(preload))
            self.record_alone(STEPS, preload=preload)
            self.assertEqual(self.counts(self.report()), PLAIN)
            self.assertEqual([event.get("args") for event in self.events() if event["ph"] == "X" and event["name"] == "train"], [None] * STEPS)

    def test_megascope_run_names_the_library(self):
        self.call(MEGASCOPE, "run", "--", ALONE, str(STEPS), MEGASCOPE_OUT=self.run_directory, MEGASCOPE_EXPORT="none")
        self.assertEqual(self.counts(self.report()), PLAIN)
        said = self.call(MEGASCOPE, "run", "--", ALONE, "1", NVTX_INJECTION64_PATH="/nowhere/tool.so")
        self.assertEqual(said, "recorded 0\n")  # another tool's is left alone

    def test_another_copy_of_the_library_hands_over(self):
        copy = os.path.join(self.directory, "libmegascope.so")
        shutil.copy(self.library, copy)
        self.record_alone(STEPS, NVTX_INJECTION64_PATH=copy)
        self.assertEqual(self.counts(self.report()), PLAIN)
        self.assertEqual(sorted(os.listdir(self.directory)), ["libmegascope.so", "run"])

    def test_ranges_that_overlap(self):
        self.record_alone(STEPS, "ranges", MEGASCOPE_EXPORT="otf2+perfetto")
        for report in (self.report(), self.stored_report()):
            self.assertEqual(self.counts(report), {"io:load": STEPS, "compute": STEPS, "send": STEPS, "handed over": STEPS, "endless": 1})
            self.assertEqual(sum(report["losses"].values()), 0)
            self.assertGreater(report["regions"]["send"]["time_s"], STEPS * 0.001)  # a pause of a millisecond lies inside
        events = self.events()
        begun = {event["id2"]["local"]: event for event in events if event["ph"] == "b"}
        ended = {event["id2"]["local"]: event for event in events if event["ph"] == "e"}
        self.assertEqual(len(begun), 3 * STEPS + 1)
        self.assertEqual([begun[name]["name"] for name in begun if name not in ended], ["endless"])
        for name, event in ended.items():
            self.assertEqual(event["name"], begun[name]["name"])
            self.assertLess(begun[name]["ts"], event["ts"])
            self.assertEqual(event["tid"] != begun[name]["tid"], event["name"] == "handed over")
        self.judge_otf2()
        self.assertEqual(self.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0"), [])
        rows = self.query("select s.name as name, count(*) as count, min(s.dur) as least from slice s join track t on t.id = s.track_id "
                          "where t.name = 'ranges' group by 1 order by 1")
        self.assertEqual({row["name"]: row["count"] for row in rows}, {"io:load": STEPS, "send": STEPS, "handed over": STEPS, "endless": 1})
        self.assertEqual([row["least"] for row in rows if row["name"] == "endless"], [-1])  # as the trace processor tells what never ends

    def test_misuse_is_counted_and_the_program_goes_on(self):
        self.record_alone(1, "misuse", MEGASCOPE_EXPORT="otf2+perfetto+chrome")
        report = self.stored_report()
        self.assertEqual((report["losses"]["unbalanced"], report["losses"]["refused"]), (5, 5))
        for counts in (self.counts(report), self.counts(self.report())):
            self.assertEqual({name: counts[name] for name in ("a", "b", "(no message)", "deep", "other:crossing", "inner", "never popped", "x\ufffd\ufffdy")},
                             {"a": 1, "b": 1, "(no message)": 5, "deep": 255, "other:crossing": 1, "inner": 1, "never popped": 1, "x\ufffd\ufffdy": 1})
        inner = [event.get("args", {}) for event in self.events() if event["ph"] == "X" and event["name"] == "inner"]
        self.assertEqual(inner, [{}, {"continued": 1}])
        self.judge_otf2()

    def test_ranges_across_boundaries_of_steps(self):
        self.record_alone(STEPS, "steps", MEGASCOPE_EXPORT="otf2")
        report = self.stored_report()
        self.assertEqual(sum(report["losses"].values()), 0)
        for counts in (self.counts(report), self.counts(self.report())):
            self.assertEqual(counts, {"step": STEPS, "across": STEPS, "other:whole": 1})
        pieces = [event["args"] for event in self.events() if event["ph"] == "X" and event["name"] == "step"]
        self.assertEqual([piece["step"] for piece in pieces if "continued" not in piece], list(range(STEPS)))
        # Each but the first goes on behind the pop in it, and the last behind that of the range around all.
        self.assertEqual([piece["step"] for piece in pieces if "continued" in piece], [*range(1, STEPS), STEPS - 1])
        self.judge_otf2()

    def test_more_names_than_are_told_apart(self):
        self.record_alone(1, "names")
        report = self.stored_report()
        regions = {name: row["count"] for name, row in report["regions"].items()}
        further = report["losses"]["refused"]
        self.assertEqual(regions["(further messages)"], further)
        self.assertEqual(sum(regions.values()), 100001)  # with the probe, which may be among "(others)"
        self.assertGreater(100000 - further, 50000)

    def test_threads_and_their_names(self):
        self.record_alone(1, "threads")
        report = self.stored_report()
        self.assertEqual(sum(report["losses"].values()), 0)
        for counts in (self.counts(report), self.counts(self.report())):
            self.assertEqual(counts.pop("process"), 20000)
            self.assertEqual(counts.pop("the thread dies in it"), 20)
            self.assertEqual(counts.pop("of the chief"), 1)
            self.assertEqual(counts, {f"shared {i}": 400 for i in range(50)})
        names = [event["args"]["name"] for event in self.events() if event["ph"] == "M" and event["name"] == "thread_name"]
        self.assertEqual(sorted(names), sorted(["chief"] + [f"worker {i}" for i in range(20)]))

    def test_a_forked_child_records_nothing(self):
        self.record_alone(1, "fork")
        self.assertEqual(self.counts(self.report()), {"before fork": 1, "range": 1})
        self.assertEqual(sum(self.stored_report()["losses"].values()), 0)

    def test_a_kill_keeps_what_was_told(self):
        self.record_alone(1, "kill", code=-9)
        self.call(MEGASCOPE, "recover", self.run_directory)
        self.assertEqual(self.counts(self.report()), {"open range": 1, "pushed": 1})
        shown = [(event["ph"], event["name"], event.get("args", {}).get("unfinished", False)) for event in self.events() if event["ph"] in "Xb"][1:]
        self.assertEqual(sorted(shown), [("X", "pushed", True), ("b", "open range", False)])

    def test_ranges_that_are_never_ended_are_bounded(self):
        self.record_alone(1, "leak")
        report = self.stored_report()
        self.assertEqual(self.counts(report)["leaked"] + report["losses"]["refused"], 20000)
        self.assertGreater(self.counts(report)["leaked"], 10000)

    def test_cpp(self):
        self.record_alone(program=SCOPED, MEGASCOPE_TRACE="full")
        self.assertEqual(self.counts(self.report()), {"step of the program": 3, "overlap": 3, "solver:solve": 3, "solver:set up": 3})
        events = self.events()
        self.assertEqual([event["args"] for event in events if event["name"] == "solver:set up"],
                         [{"real_payload": step + 0.25, "category": 7, "argb": 0xFF7FFF00} for step in range(3)])
        self.assertEqual([event["args"] for event in events if event["name"] == "step of the program"], [{"real_payload": 2.0 ** 63}] * 3)
        self.assertEqual({event["cat"] for event in events if event["name"] == "solver:set up"}, {"numerics"})
        self.assertEqual([event["ph"] for event in events if event["name"] == "solver:converged"], ["i"] * 3)
        self.assertEqual(sum(self.stored_report()["losses"].values()), 0)


if __name__ == "__main__":
    reported_skips.main()
