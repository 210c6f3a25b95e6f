"""What ranks tell each other at steps, end to end: statistics of whole tensors against what this file works out itself.

  control_test.py MEGASCOPE TALKER TOOLS MPIRUN...
"""

import json
import math
import os
import subprocess
import sys
import time

MEGASCOPE, TALKER, TOOLS, *MPIRUN = sys.argv[1:]
sys.path.insert(0, TOOLS)
import launch  # noqa: E402
import recorded_case  # noqa: E402
import reported_skips  # noqa: E402

ELEMENTS = 1000
STEPS = 8
LATE_S = 2.0  # of one rank before MPI_Finalize (talker late)


def values(step, salt):
    return [((i * 37 + step * 11 + salt * 53) % 101 - 50) / 8.0 for i in range(ELEMENTS)]


def truth(*parts):
    """What a whole tensor comes to; the sums of these numbers are exact in any order."""
    whole = [value for part in parts for value in part]
    finite = [value for value in whole if math.isfinite(value)]
    return {"count": len(whole), "nan": sum(math.isnan(value) for value in whole), "infinite": sum(math.isinf(value) for value in whole),
            "min": min(finite), "max": max(finite), "mean": sum(finite) / len(finite), "norm": math.sqrt(sum(value * value for value in finite))}


class Case(recorded_case.Case):
    megascope, mpirun = MEGASCOPE, MPIRUN

    def run_program(self, mode, ranks, steps=STEPS, code=0, **more):
        begin = time.monotonic()
        said = self.record_ranks(ranks, TALKER, mode, steps, code=code, **{"MEGASCOPE_EXPORT": "chrome", "MEGASCOPE_TENSORS": "*", **more})
        self.took_s = time.monotonic() - begin
        if code is not None:
            self.assertEqual(said, "done\n", self.said)

    def series(self):
        """(rank, counter) -> its values in order of time."""
        found = {}
        for event in sorted((event for event in self.events() if event["ph"] == "C"), key=lambda event: event["ts"]):
            found.setdefault((event["pid"], event["name"]), []).append(next(iter(event["args"].values())))
        return found

    def of_tensor(self, series, rank, prefix):
        """The values of all seven counters, a dictionary a step."""
        words = ("count", "nan", "infinite", "min", "max", "mean", "norm")
        columns = [series.get((rank, f"{prefix}/global {word}"), []) for word in words]
        self.assertEqual(len({len(column) for column in columns}), 1, prefix)
        return [dict(zip(words, row)) for row in zip(*columns)]

    def assert_steps(self, series, rank, prefix, wanted):
        found = self.of_tensor(series, rank, prefix)
        self.assertEqual(len(found), len(wanted), prefix)
        for step, (mine, right) in enumerate(zip(found, wanted)):
            for word, number in right.items():
                self.assertAlmostEqual(mine[word], number, delta=1e-12 * abs(number), msg=f"{prefix} {word}, step {step}")

    def globals_of(self, series):
        return sorted({name for _, name in series if "/global " in name})


class Reductions(Case):
    def test_unequal_shards_of_2_and_4_ranks(self):
        for ranks in (2, 4):
            self.run_directory = os.path.join(self.directory, str(ranks))
            self.run_program("plain", ranks)
            series = self.series()
            self.assert_steps(series, 0, "w/layer 0/grad_reduced", [truth(values(step, 0)) for step in range(STEPS)])
            self.assert_steps(series, 0, "all/grad_reduced", [truth(values(step, 0)) for step in range(STEPS)])
            self.assertEqual({rank for rank, name in series if "/global " in name}, {0})
            self.assertEqual(self.stored_report()["notes"], [])

    def test_an_empty_shard(self):
        self.run_program("empty", 3)
        self.assert_steps(self.series(), 0, "w/layer 0/grad_reduced", [truth(values(step, 0)) for step in range(STEPS)])

    def test_one_rank(self):
        self.run_program("plain", 1)
        self.assert_steps(self.series(), 0, "w/layer 0/grad_reduced", [truth(values(step, 0)) for step in range(STEPS)])

    def test_2_x_2_x_2(self):
        self.run_program("cube", 8, steps=5, MEGASCOPE_PARALLEL="tp=2+dp=2+pp=2")
        series = self.series()
        steps = range(5)
        for pp, owner in ((0, 0), (1, 4)):
            self.assert_steps(series, owner, f"h/layer {pp}/grad_reduced", [truth(values(s, pp)) for s in steps])
            self.assert_steps(series, owner, f"ln/layer {pp}/weight", [truth(values(s, 10 + pp)) for s in steps])
            self.assert_steps(series, owner, f"x/layer {pp}/actv_out", [truth(values(s, 20), values(s, 21)) for s in steps])
            self.assert_steps(series, owner, f"zero/layer {pp}/exp_avg", [truth(values(s, 50)) for s in steps])
            for dp in (0, 1):
                self.assert_steps(series, owner + 2 * dp, f"g/layer {pp}/grad_unreduced/dp {dp}", [truth(values(s, 30 + dp)) for s in steps])
        self.assert_steps(series, 0, "wte/weight", [truth(values(s, 40)) for s in steps])
        self.assert_steps(series, 4, "late/layer 1/grad_reduced", [truth(values(s, 7)) for s in steps])
        self.assert_steps(series, 0, "all/grad_reduced", [truth(values(s, 0), values(s, 1), values(s, 7)) for s in steps])
        self.assert_steps(series, 0, "all/weight", [truth(values(s, 10), values(s, 11), values(s, 40)) for s in steps])
        self.assertEqual(self.stored_report()["notes"], [])

    def test_nan_and_infinity_in_one_shard(self):
        self.run_program("nan", 2)
        wanted = [truth(values(step, 0)) for step in range(STEPS)]
        bad = values(2, 0)
        bad[250:252] = [math.nan, -math.inf]
        wanted[2] = truth(bad)
        self.assertEqual((wanted[2]["nan"], wanted[2]["infinite"]), (1, 1))
        self.assert_steps(self.series(), 0, "w/layer 0/grad_reduced", wanted)

    def test_more_tensors_than_there_is_space_for(self):
        self.run_program("many", 2, steps=10)
        series = self.series()
        counts = [name for _, name in series if name.endswith("/global count")]
        self.assertEqual(len(counts), 4096)
        self.assertTrue(any("too many tensors for one step exchange" in note for note in self.stored_report()["notes"]), self.stored_report()["notes"])

    def test_space_follows_what_is_needed(self):
        # 1024 at first; 5000 need more than there is, and 4096 is what all ranks have from the same step on.
        self.run_program("many", 2, steps=6)
        numbers = [len(values) for (_, name), values in self.series().items() if name.endswith("/global count")]
        self.assertEqual((numbers.count(6), len(numbers)), (1024, 4096))
        self.assertEqual(len(set(numbers)), 2)
        self.assertIn(min(numbers), (2, 3))

    def test_steps_that_leave_gaps(self):
        self.run_program("skip", 2)
        self.assert_steps(self.series(), 0, "w/layer 0/grad_reduced", [truth(values(10 * step + 5, 0)) for step in range(STEPS)])
        self.assertEqual(self.stored_report()["notes"], [])


class BadInput(Case):
    def assert_note(self, text):
        notes = self.stored_report()["notes"]
        self.assertTrue(any(text in note for note in notes), notes)

    def norms(self):
        return self.series().get((0, "w/layer 0/grad_reduced/global norm"), [])

    def right(self, *steps):
        return [truth(values(step, 0))["norm"] for step in steps]

    def test_groups_that_are_not_of_the_worlds_size(self):
        for mode, note in (("disagree", "do not multiply to the number of ranks"), ("product", "do not multiply to the number of ranks"), ("twice", "two ranks have the same coordinates")):
            self.run_directory = os.path.join(self.directory, mode)
            self.run_program(mode, 2)
            self.assertEqual(self.globals_of(self.series()), [], mode)
            self.assert_note(note)

    def test_groups_of_which_only_the_names_differ(self):
        # All have four places, and each is held once.
        self.run_program("names", 4)
        self.assertEqual(self.globals_of(self.series()), [])
        self.assert_note("ranks disagree on the parallel groups")

    def test_a_tensor_that_is_shown_as_split_and_as_whole(self):
        self.run_program("both", 2)
        self.assertEqual(self.norms(), self.right(0, 1, 2, 4, 5, 6, 7))
        self.assert_note("1 time: a tensor was reported with two different splits in one step (w)")

    def test_a_tensor_split_along_a_group_that_is_not_told(self):
        self.run_program("nogroup", 2)
        self.assertEqual(self.globals_of(self.series()), [])
        self.assert_note("along tp")

    def test_a_part_that_is_not_shown(self):
        self.run_program("hidden", 2)
        self.assertEqual(self.norms(), self.right(0, 1, 2, 3))
        self.assert_note("parts of a tensor were not reported (first: w, 1 of 2)")

    def test_fewer_steps_on_one_rank(self):
        self.run_program("fewer", 2, MEGASCOPE_STEP_WAIT=0.3)
        self.assertEqual(self.norms(), self.right(0, 1, 2))
        self.assertLess(self.took_s, 20)

    def test_steps_on_some_ranks_only(self):
        self.run_program("some", 2, MEGASCOPE_STEP_WAIT=0.3)
        self.assertEqual(self.norms(), [])
        self.assert_note("ranks were in different steps when they reported statistics")

    def test_steps_that_go_backwards_on_one_rank(self):
        self.run_program("back", 2)
        self.assertEqual(self.norms(), self.right(0, 1, 2, 4, 5, 6, 7))
        self.assertGreater(self.stored_report()["losses"]["unbalanced"], 0)

    def test_steps_that_go_backwards_everywhere(self):
        self.run_program("backall", 2)
        self.assertEqual(self.norms(), self.right(0, 1, 2, 5, 6, 7))
        self.assert_note("step numbers of a rank did not increase")

    def test_a_rank_that_sleeps_longer_than_the_patience(self):
        self.run_program("sleep", 2, MEGASCOPE_STEP_WAIT=0.1)
        self.assertEqual(self.norms()[:3], self.right(0, 1, 2))
        self.assertLess(len(self.norms()), STEPS)
        self.assert_note("other ranks did not begin the step in time")
        self.assertEqual(self.said.count("no more statistics over all ranks"), 1, self.said)

    def test_a_rank_that_dies(self):
        self.run_program("die", 2, code=None)
        self.assertNotEqual(self.code, 0)
        self.assertLess(self.took_s, 30)


class Threads(Case):
    def test_a_thread_that_may_not_call_mpi(self):
        self.run_program("thread", 2)
        self.assertEqual(self.globals_of(self.series()), [])
        self.assertEqual(self.said.count("steps that begin on a thread that may not call MPI"), 1, self.said)

    def test_any_thread_where_that_is_allowed(self):
        self.run_program("multiple", 2)
        if "another thread level is given" in self.said:
            self.skipTest("the library does not give MPI_THREAD_MULTIPLE")
        self.assert_steps(self.series(), 0, "w/layer 0/grad_reduced", [truth(values(step, 0)) for step in range(STEPS)])

    def test_serialized(self):
        self.run_program("serialized", 2)
        if "another thread level is given" in self.said:
            self.skipTest("the library gives more than MPI_THREAD_SERIALIZED")
        self.assertEqual(self.globals_of(self.series()), [])
        self.assertEqual(self.said.count("at MPI_THREAD_SERIALIZED"), 1, self.said)

    def test_a_step_that_begins_inside_of_mpi(self):
        self.run_program("callback", 2)
        found = self.series()[(0, "w/layer 0/grad_reduced/global norm")]
        self.assertEqual(found[:2], [truth(values(step, 0))["norm"] for step in (0, 1)])
        # The operator runs on one of the ranks, whose steps are others from then on.
        self.assertTrue(set(found) <= {truth(values(step, 0))["norm"] for step in range(STEPS)}, found)

    def test_steps_before_mpi_and_behind_it(self):
        self.run_program("early", 2)
        self.assert_steps(self.series(), 0, "w/layer 0/grad_reduced", [truth(values(step, 0)) for step in range(STEPS)])


class Decisions(Case):
    def steps_recorded(self, rank):
        return [event["args"]["step"] for event in self.events() if event["ph"] == "X" and event["name"] == "step" and event["pid"] == rank]

    def test_all_ranks_record_on_after_a_nan_from_the_same_step_on(self):
        self.run_program("nan", 3, steps=20, MEGASCOPE_STEP_START=2, MEGASCOPE_STEP_INTERVAL=10, MEGASCOPE_NAN_STEPS=4)
        # Step 2 has it, all know it when step 4 or 5 begins, the word is said at the next and obeyed two later.
        recorded = [self.steps_recorded(rank) for rank in range(3)]
        self.assertEqual(recorded[0], recorded[1])
        self.assertEqual(recorded[0], recorded[2])
        captured = [step for step in recorded[0] if step not in (2, 12)]
        self.assertEqual(len(captured), 4)
        self.assertEqual(captured, list(range(captured[0], captured[0] + 4)))
        self.assertLessEqual(captured[0], 8)

    def test_without_one_nothing_else_is_recorded(self):
        self.run_program("plain", 2, steps=20, MEGASCOPE_STEP_START=2, MEGASCOPE_STEP_INTERVAL=10, MEGASCOPE_NAN_STEPS=4)
        self.assertEqual(self.steps_recorded(1), [2, 12])
        norms = [truth(values(step, 0))["norm"] for step in (2, 12)]
        self.assertEqual(self.series()[(0, "w/layer 0/grad_reduced/global norm")], norms)

    def test_off(self):
        self.run_program("plain", 2, MEGASCOPE_CONTROL="off")
        self.assertEqual(self.globals_of(self.series()), [])

    def test_times_of_steps_without_tensors(self):
        self.run_program("plain", 2, MEGASCOPE_CONTROL="on", MEGASCOPE_TENSORS="")
        series = self.series()
        longest, shortest = series[(0, "step/longest")], series[(0, "step/shortest")]
        self.assertEqual(len(longest), STEPS - 1)
        self.assertTrue(all(a >= b > 0 for a, b in zip(longest, shortest)))
        self.assertEqual(self.globals_of(series), [])

    def test_own_time_of_steps_is_in_the_report(self):
        self.run_program("plain", 2)
        talk = self.stored_report()["step_talk"]
        self.assertEqual((talk["steps"], talk["skipped"]), (STEPS + 1, 0))  # and what comes before the first
        self.assertTrue(0 <= talk["wait_s"] < talk["own_s"] < talk["step_s"] + talk["own_s"], talk)
        with open(os.path.join(self.run_directory, "report.txt"), encoding="utf-8") as file:
            self.assertIn("statistics over all ranks at 9 steps: ", file.read())

    def test_who_waits_in_finalize_does_not_work(self):
        outside, own = {}, {}
        for control in ("off", "on"):
            self.run_directory = os.path.join(self.directory, control)
            self.run_program("late", 2, MEGASCOPE_CONTROL=control)
            rank = self.report()["per_rank"][0]
            outside[control] = rank["wall_s"] - rank["mpi_time_s"]
            own[control] = rank["overhead_s"]
        self.assertLess(outside["on"], outside["off"] + 0.5 * LATE_S)
        self.assertGreater(own["on"], own["off"] + 0.5 * LATE_S)
        self.assert_steps(self.series(), 0, "w/layer 0/grad_reduced", [truth(values(step, 0)) for step in range(STEPS)])

    def test_who_waits_in_finalize_is_seen_there(self):
        clean = self.environment()
        settings = launch.setting(MPIRUN, **self.settings(MEGASCOPE_TENSORS="*"))
        seen = set()
        with subprocess.Popen([*MPIRUN, *settings, "-n", "2", TALKER, "late", str(STEPS)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              cwd=self.directory, env=clean) as program:
            while program.poll() is None:
                asked = subprocess.run([MEGASCOPE, "hang", self.run_directory, "--format", "json"], capture_output=True, text=True, check=False, env=clean)
                if asked.returncode in (0, 1):
                    seen.add(tuple((rank["rank"], rank["state"]) for rank in json.loads(asked.stdout)["per_rank"]))
                time.sleep(0.1)
        self.assertEqual(program.returncode, 0)
        self.assertIn(((0, "finalized"), (1, "goes_on")), seen)

    def test_nothing_is_told_where_calls_only_are_recorded(self):
        self.run_program("plain", 2, MEGASCOPE_CONTROL="on", MEGASCOPE_TRACE="calls", MEGASCOPE_TENSORS="")
        self.assertEqual(self.said.count("MEGASCOPE_CONTROL=on is ignored: MEGASCOPE_TRACE=calls records MPI calls only"), 1, self.said)

    def test_settings_that_differ(self):
        if launch.is_hydra(MPIRUN):
            self.skipTest("-genv is for all")
        part = lambda tensors: [*launch.setting(MPIRUN, **self.settings(MEGASCOPE_EXPORT="chrome", MEGASCOPE_TENSORS=tensors)), "-n", "1", TALKER, "plain", "5"]  # noqa: E731
        self.call(*MPIRUN, *part("*"), ":", *part("nothing"))
        self.assertIn("ranks have different settings", self.said)
        self.assertEqual(self.globals_of(self.series()), [])


if __name__ == "__main__":
    reported_skips.main()
