"""Hooks, end to end: programs with and without MPI, with and without the library; the report and the readers of every format.

  hooks_test.py MEGASCOPE HOOKED HOOKED_ALONE TOLD_AT_LOAD TOOLS TRACE_PROCESSOR MPIRUN...
"""

import os
import shutil
import sys

MEGASCOPE, HOOKED, ALONE, AT_LOAD, TOOLS, PROCESSOR, *MPIRUN = sys.argv[1:]
sys.path.insert(0, TOOLS)
import recorded_case  # noqa: E402
import reported_skips  # noqa: E402

STEPS = 5


class Case(recorded_case.Case):
    megascope, mpirun, processor = MEGASCOPE, MPIRUN, PROCESSOR

    def record(self, *words, ranks=2, **more):
        return self.record_ranks(ranks, HOOKED, *words, **more)

    def record_alone(self, *words, **more):
        return self.call(ALONE, *words, **self.settings(**more))


class WithMpi(Case):
    def test_without_the_library_nothing_is_recorded_and_nothing_changes(self):
        said = self.call(*MPIRUN, "-n", "2", HOOKED, str(STEPS))
        self.assertEqual(said.splitlines(), ["recording 0, afterwards 0, saved -1"] * 2)
        self.assertEqual(os.listdir(self.directory), [])

    def test_regions_steps_counters_and_marks_are_in_the_report(self):
        said = self.record(STEPS)
        self.assertEqual(said.splitlines(), ["recording 1, afterwards 0, saved -1"] * 2)
        for report in (self.report(), self.stored_report()):
            self.assertEqual(self.counts(report), {"step": 2 * STEPS, "forward": 4 * STEPS, "backward": 4 * STEPS})
            self.assertEqual(report["functions"]["MPI_Allreduce"]["calls"], 4 * STEPS)
            self.assertEqual(sum(report["losses"].values()), 0)
            times = {name: row["time_s"] for name, row in report["regions"].items()}
            self.assertLess(times["backward"], times["forward"])
            self.assertLess(times["forward"], times["step"])
        self.assertIn("User regions", self.call(MEGASCOPE, "report", self.run_directory))

    def test_the_same_run_tells_the_same_of_mpi_with_and_without_hooks(self):
        seen = []
        for trace in ("calls", "full"):
            self.run_directory = os.path.join(self.directory, trace)
            self.record(STEPS, MEGASCOPE_TRACE=trace)
            report = self.report()
            seen.append({name: row["calls"] for name, row in report["functions"].items()})
            self.assertEqual(self.counts(report), {} if trace == "calls" else {"step": 2 * STEPS, "forward": 4 * STEPS, "backward": 4 * STEPS})
            self.assertEqual(report["pending"]["count"], 0)
            hang = self.call(MEGASCOPE, "hang", self.run_directory)
            self.assertIn("all reached MPI_Finalize", hang)
        self.assertEqual(seen[0], seen[1])

    def test_misuse_is_counted_and_named_and_the_program_goes_on(self):
        self.record(1, "misuse", MEGASCOPE_EXPORT="otf2+perfetto+chrome")
        report = self.stored_report()
        self.assertEqual(report["losses"]["unbalanced"], 2 * 4)
        self.assertEqual(report["losses"]["refused"], 2 * 7)
        self.assertEqual(report["notes"], [])
        counts = self.counts(self.report())
        self.assertEqual(counts["a"], 2 * 3)
        self.assertEqual(counts["x" * 197 + "..."], 2)
        self.assertEqual(counts["b"], 2 * (1 + 256))
        self.judge_otf2()

    def test_otf2_has_regions_with_their_numbers_counters_and_marks(self):
        self.record(STEPS, MEGASCOPE_EXPORT="otf2")
        self.judge_otf2()
        printed = self.call("otf2-print", os.path.join(self.run_directory, "trace.otf2"))
        enters = [line for line in printed.splitlines() if line.startswith("ENTER")]
        for region, count in (("step", STEPS), ("forward", 2 * STEPS), ("backward", 2 * STEPS), ("checkpoint", 1)):
            self.assertEqual(sum(f'"{region}"' in line for line in enters), 2 * count, region)
        metrics = [line for line in printed.splitlines() if line.startswith("METRIC")]
        self.assertEqual(len(metrics), 2 * STEPS)
        self.assertIn("loss", metrics[0])
        # Nested: in each rank's order, what is entered last is left first, and MPI's calls lie within "backward".
        stack = []
        for line in printed.splitlines():
            words = line.split()
            if len(words) < 2 or words[1] != "0" or words[0] not in ("ENTER", "LEAVE"):
                continue
            name = line.split('"')[1]
            if words[0] == "ENTER":
                if name == "MPI_Allreduce":
                    self.assertEqual(stack, ["step", "forward", "backward"])
                stack.append(name)
            else:
                self.assertEqual(stack.pop(), name)
        self.assertEqual(stack, [])

    def test_perfetto_nests_slices_and_shows_counters_and_marks(self):
        self.record(STEPS, MEGASCOPE_EXPORT="perfetto")
        trace = os.path.join(self.run_directory, "trace.perfetto-trace")
        self.assertTrue(os.path.exists(trace), os.listdir(self.run_directory))
        rows = self.query("select s.depth as depth, p.name as parent, count(*) as n from slice s left join slice p on p.id = s.parent_id "
                          "where s.name in ('MPI_Allreduce', 'backward', 'forward', 'step') group by s.name order by s.depth")
        self.assertEqual([(row["depth"], row["parent"], row["n"]) for row in rows],
                         [(0, None, 2 * STEPS), (1, "step", 4 * STEPS), (2, "forward", 4 * STEPS), (3, "backward", 4 * STEPS)])
        values = self.query("select value, t.name as name, t.unit as unit from counter c join counter_track t on t.id = c.track_id order by ts")
        self.assertEqual({(row["name"], row["unit"]) for row in values}, {("loss", "nats")})
        self.assertEqual(sorted(row["value"] for row in values), sorted(2 * [1.0 / (step + 1) for step in range(STEPS)]))
        marks = self.query("select dur from slice where name = 'checkpoint'")
        self.assertEqual([row["dur"] for row in marks], [0, 0])
        errors = self.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0")
        self.assertEqual(errors, [])

    def test_chrome_shows_the_same(self):
        self.record(STEPS, MEGASCOPE_EXPORT="chrome")
        events = self.events()
        count = lambda ph, name: sum(event["ph"] == ph and event.get("name") == name for event in events)  # noqa: E731
        self.assertEqual((count("X", "step"), count("X", "forward"), count("C", "loss"), count("i", "checkpoint")),
                         (2 * STEPS, 4 * STEPS, 2 * STEPS, 2))
        steps = [event["args"]["step"] for event in events if event["ph"] == "X" and event["name"] == "step" and event["pid"] == 0]
        self.assertEqual(steps, list(range(STEPS)))
        batches = [event["args"] for event in events if event["ph"] == "X" and event["name"] == "forward" and event["pid"] == 1]
        self.assertEqual(batches, [{"micro_batch": i % 2, "layer": 3} for i in range(2 * STEPS)])

    def test_hooks_before_mpi_and_after_it_are_ignored(self):
        self.record(2, "early")
        report = self.report()
        self.assertEqual(self.counts(report)["step"], 2 * 2)
        self.assertGreater(report["mpi_calls"], 0)

    def test_threads_that_die_inside_of_regions(self):
        self.record(1, "threads", ranks=1, MEGASCOPE_EXPORT="otf2+perfetto")
        report = self.stored_report()
        self.assertEqual(report["regions"]["of a thread"]["count"], 80 * 101)
        self.assertEqual(sum(report["losses"].values()), 0)
        self.assertEqual(self.counts(self.report()), self.counts(report))
        self.judge_otf2()

    def test_a_thread_that_is_cancelled_while_it_tells(self):
        self.record(1, "cancelled", ranks=1)
        report = self.report()
        self.assertEqual(report["regions"]["of a cancelled thread"]["count"], 1000000)
        self.assertEqual(sum(report["losses"].values()), 0)

    def test_a_forked_child_records_nothing(self):
        self.record(1, "fork", ranks=1)
        report = self.report()
        self.assertEqual(report["regions"]["before fork"]["count"], 1)
        self.assertNotIn("child", report["regions"])
        self.assertEqual(sum(report["losses"].values()), 0)

    def test_steps_of_a_window_are_recorded_exactly(self):
        for start, interval, count in ((0, 1, 1), (2, 1, 1), (1, 3, 1), (2, 4, 2), (0, 4, 1), (9, 1, 1), (5, 2, 3)):
            self.run_directory = os.path.join(self.directory, f"{start}-{interval}-{count}")
            said = self.record(10, MEGASCOPE_STEP_START=start, MEGASCOPE_STEP_INTERVAL=interval, MEGASCOPE_STEP_COUNT=count)
            wanted = [s for s in range(10) if s >= start and (s - start) % interval < count]
            self.assertEqual(said.splitlines(), [f"recording {int(9 in wanted)}, afterwards 0, saved -1"] * 2)
            self.assertEqual(self.steps_of(0), wanted, (start, interval, count))
            report = self.report()
            allreduces = 4 * len(wanted)
            self.assertEqual(report["functions"].get("MPI_Allreduce", {"calls": 0})["calls"], allreduces)
            stored = self.stored_report()  # of all steps
            self.assertEqual(stored["functions"]["MPI_Allreduce"]["calls"], 40)
            self.assertEqual(self.counts(stored), {"step": 20, "forward": 40, "backward": 40})
            self.assertEqual(sum(stored["losses"].values()), 0)

    def test_windows_of_a_program_that_tells_no_step(self):
        self.record(3, "silent", MEGASCOPE_STEP_START=2)
        report = self.stored_report()
        self.assertEqual(report["functions"]["MPI_Allreduce"]["calls"], 12)
        self.assertTrue(any("the application annotates none (megascope_step_begin)" in note for note in report["notes"]), report["notes"])

    def test_a_program_that_never_starts_its_mpi(self):
        settings = self.settings()
        said = self.call(HOOKED, "2", "nostart", **settings)
        self.assertEqual(said, "recording 0, afterwards 0, saved -1\n")
        self.assertIn("MEGASCOPE_WITHOUT_MPI=1", self.said)
        self.assertEqual(os.listdir(self.directory), [])
        self.call(HOOKED, "2", "nostart", **settings, MEGASCOPE_WITHOUT_MPI=1)
        self.assertEqual(self.counts(self.report())["step"], 2)

    def test_mpi_that_starts_behind_a_recording_without_it(self):
        self.record(2, "early", ranks=1, MEGASCOPE_WITHOUT_MPI=1)
        self.assertIn("MPI calls are not recorded", self.said)
        self.assertEqual(self.counts(self.report())["step"], 1 + 2 + 1)

    def steps_of(self, rank):
        return [event["args"]["step"] for event in self.events() if event["ph"] == "X" and event["name"] == "step" and event["pid"] == rank]


class WithoutMpi(Case):
    def test_one_process(self):
        said = self.record_alone(STEPS, MEGASCOPE_EXPORT="otf2+perfetto")
        self.assertEqual(said, "recording 1, afterwards 1, saved 0\n")
        report = self.stored_report()
        self.assertEqual(self.counts(report), {"step": STEPS, "forward": 2 * STEPS, "backward": 2 * STEPS})
        self.assertEqual(report["end_states"], self.report()["end_states"])
        self.assertGreater(report["wall_s"], 0)
        for name in ("trace.otf2", "trace.perfetto-trace"):
            self.assertIn(name, os.listdir(self.run_directory))

    def test_several_processes_write_a_trace_each_and_are_joined(self):
        for rank in range(2):
            self.record_alone(STEPS, RANK=rank, WORLD_SIZE=2)
        parts = [os.path.join(self.directory, name, part) for name in os.listdir(self.directory) for part in os.listdir(os.path.join(self.directory, name))
                 if part.startswith("solo-")]
        self.assertEqual(sorted(os.path.basename(part) for part in parts), ["solo-0", "solo-1"])
        joined = os.path.join(self.directory, "joined")
        self.call(MEGASCOPE, "join", *parts, "-o", joined)
        report = self.report(joined)
        self.assertEqual(report["ranks"], 2)
        self.assertEqual(self.counts(report)["step"], 2 * STEPS)
        self.assertEqual(self.analyzed(joined)["steps"], STEPS)

    def test_without_the_library_and_switched_off(self):
        self.assertEqual(self.call(ALONE, "1"), "recording 0, afterwards 0, saved -1\n")
        self.assertEqual(self.record_alone(1, MEGASCOPE_ENABLE=0), "recording 0, afterwards 0, saved -1\n")
        self.assertEqual(os.listdir(self.directory), [])

    def test_where_the_library_is_only_named_to_nvtx_hooks_find_it(self):
        settings = self.settings(NVTX_INJECTION64_PATH=self.library)
        del settings["LD_PRELOAD"]
        self.assertEqual(self.call(ALONE, STEPS, **settings), "recording 1, afterwards 1, saved 0\n")
        self.assertEqual(self.counts(self.report()), {"step": STEPS, "forward": 2 * STEPS, "backward": 2 * STEPS})
        self.run_directory += "2"
        settings["MEGASCOPE_OUT"] = self.run_directory
        self.call(HOOKED, STEPS, **settings)
        self.assertIn("MPI calls are not recorded: the library was loaded for NVTX, not preloaded", self.said)
        self.assertEqual(self.counts(self.report())["step"], STEPS)

    def test_another_tool_of_nvtx_is_not_opened(self):
        copy = os.path.join(self.directory, "libtool.so")
        shutil.copy(self.library, copy)
        for other in (copy, "/nowhere/libmegascope.so", "libmegascope.so.of.none", ""):
            self.assertEqual(self.call(ALONE, 1, NVTX_INJECTION64_PATH=other), "recording 0, afterwards 0, saved -1\n")

    def test_a_kill_keeps_what_was_told(self):
        self.call(ALONE, str(STEPS), "kill", code=-9, **self.settings())
        self.call(MEGASCOPE, "recover", self.run_directory)
        self.assertEqual(self.counts(self.report()), {"step": STEPS, "forward": 2 * STEPS + 1, "backward": 2 * STEPS})
        unfinished = [event["name"] for event in self.events() if event.get("args", {}).get("unfinished")]
        self.assertEqual(unfinished, ["step", "forward"])

    def test_fork_and_threads(self):
        self.record_alone(1, "fork")
        self.assertEqual(self.counts(self.report())["before fork"], 1)
        self.run_directory += "2"
        self.record_alone(1, "threads")
        self.assertEqual(self.counts(self.report())["of a thread"], 80 * 101)

    def test_a_child_that_was_forked_before_the_first_hook_records_for_itself(self):
        self.record_alone(STEPS, "forkfirst")
        child, parent = (self.counts(self.report(os.path.join(self.directory, name))) for name in sorted(os.listdir(self.directory)))
        self.assertEqual(child, {"step": 1, "forward": 2, "backward": 2, "child": 1})
        self.assertEqual(parent, {"step": STEPS, "forward": 2 * STEPS, "backward": 2 * STEPS})

    def test_hooks_in_a_librarys_constructor_begin_the_recording(self):
        self.call(ALONE, "1", **{**self.settings(), "LD_PRELOAD": f"{self.library} {AT_LOAD}"})
        self.assertEqual(self.counts(self.report()), {"at load": 1, "step": 1, "forward": 2, "backward": 2})


if __name__ == "__main__":
    reported_skips.main()
