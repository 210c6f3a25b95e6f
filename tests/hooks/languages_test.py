"""Hooks from C++ and Fortran: scopes, groups that analyze uses, tensors and their statistics.

  languages_test.py MEGASCOPE SHOWN TOLD_FORTRAN|- TOOLS MPIRUN...
"""

import json
import math
import os
import shutil
import sys
import unittest

MEGASCOPE, SHOWN, FORTRAN, TOOLS, *MPIRUN = sys.argv[1:]
sys.path.insert(0, TOOLS)
import recorded_case  # noqa: E402
import reported_skips  # noqa: E402


class Case(recorded_case.Case):
    megascope, mpirun = MEGASCOPE, MPIRUN

    def record(self, program, *words, ranks=4, **more):
        return self.record_ranks(ranks, program, *words, **more)


class Cpp(Case):
    def test_scopes_end_regions_and_steps_when_exceptions_pass(self):
        self.record(SHOWN, "exceptions", ranks=1)
        report = self.stored_report()
        self.assertEqual({name: row["count"] for name, row in report["regions"].items()}, {"step": 3 + 8, "inner": 3, "forward": 8})
        self.assertEqual(report["losses"]["unbalanced"], 0 + 0)

    def test_groups_of_communicators_and_numbers_are_used(self):
        self.record(SHOWN, "groups")
        self.call("grep", "-q", "tp", os.path.join(self.run_directory, "rank-0.mgt"), "--binary-files=text")
        text = json.dumps(self.analyzed())
        self.assertNotRegex(text, r"the parallel groups? (\w+ )?(is|are) ")
        self.assertEqual(self.stored_report()["losses"]["refused"], 0)
        self.assertNotIn("MPI_Comm_size", {name for name, row in self.stored_report()["functions"].items() if row["calls"] > 4})

    def test_groups_on_which_ranks_disagree_are_named(self):
        self.record(SHOWN, "disagree")
        self.assertIn("ranks specify different sizes of it, 1 (rank 0), 2 (rank 1), 3 (rank 2), 4 (rank 3)", json.dumps(self.analyzed()))

    def test_groups_from_the_environment(self):
        self.record(SHOWN, MEGASCOPE_PARALLEL="tp=2+pp=2+order=tp-pp")
        self.assertNotRegex(self.said + json.dumps(self.analyzed()), r"MEGASCOPE_PARALLEL is |the parallel groups? (\w+ )?(is|are) ")
        shutil.rmtree(self.run_directory)
        self.record(SHOWN, MEGASCOPE_PARALLEL="tp=2+pp=3")
        self.assertIn("MEGASCOPE_PARALLEL is ignored: parallel groups: tp 2 x pp 3 is not the number of ranks, 4", self.said)
        self.assertEqual(self.said.count("MEGASCOPE_PARALLEL"), 1)

    def test_analyze_counts_the_programs_steps(self):
        self.record(SHOWN)
        analyzed = self.analyzed()
        self.assertEqual((analyzed["steps"], analyzed["steps_are"]), (8, "told"))

    def test_statistics_of_tensors_are_counters(self):
        self.record(SHOWN, "tensors", ranks=1, MEGASCOPE_TENSORS="h.*+scal*+empty", MEGASCOPE_TRACE="full", MEGASCOPE_EXPORT="chrome+otf2",
                    MEGASCOPE_CONTROL="off")
        values = {event["name"]: event["args"]["value"] for event in self.events() if event["ph"] == "C"}
        weights = [value for value in range(32) if value not in (5, 6)]
        prefix = "h.weight/layer 3/weight/"
        self.assertEqual({name[len(prefix):]: value for name, value in values.items() if name.startswith(prefix)},
                         {"count": 32, "nan": 1, "infinite": 1, "min": 0, "max": 31, "mean": sum(weights) / 30,
                          "norm": math.sqrt(sum(value * value for value in weights))})
        grads = [24, 26, 28, 30, 16, 18, 20, 22]
        prefix = "h.grad/grad_reduced/"
        self.assertEqual((values[prefix + "count"], values[prefix + "min"], values[prefix + "max"], values[prefix + "mean"]),
                         (8, 16, 30, sum(grads) / 8))
        self.assertEqual((values["scalar/other/count"], values["scalar/other/mean"]), (1, 2.5))
        self.assertEqual(values["empty/other/count"], 0)
        self.assertNotIn("empty/other/mean", values, "no element has no mean, and JSON no word for it")
        shown = [(event["name"], event["args"]["kind"], event["args"]["shape"]) for event in self.events() if event.get("cat") == "tensor"]
        self.assertEqual(shown, [("h.weight", "weight", "float32 [4, 8]"), ("h.grad", "grad_reduced", "float32 [2, 4]"),
                                 ("scalar", "other", "float64 []"), ("empty", "other", "int32 [0, 7]")])
        printed = self.call("otf2-print", os.path.join(self.run_directory, "trace.otf2"))
        self.assertEqual(sum(line.startswith("METRIC") for line in printed.splitlines()), 4 * 7)

    def test_whether_a_tensor_is_wanted_is_told_by_its_name(self):
        self.assertEqual(self.call(SHOWN, "tensors"), "wants 0 0 0\n")
        self.assertEqual(self.record(SHOWN, "tensors", ranks=1, MEGASCOPE_TENSORS="h.*"), "wants 1 0 1\n")
        shutil.rmtree(self.run_directory)
        self.assertEqual(self.record(SHOWN, "tensors", ranks=1, MEGASCOPE_TRACE="full"), "wants 1 1 1\n")

    def test_statistics_of_a_kind_only(self):
        self.assertEqual(self.record(SHOWN, "tensors", ranks=1, MEGASCOPE_TENSORS="h.*@grad_reduced+@input_tokens+*@no_kind", MEGASCOPE_EXPORT="chrome"),
                         "wants 1 1 1\n")  # "other" may be shown as input tokens
        told = {event["name"] for event in self.events() if event["ph"] == "C" and not event["name"].startswith(("step/", "all/"))}
        self.assertEqual({name.rpartition("/")[0] for name in told}, {"h.grad/grad_reduced"}, told)
        self.assertEqual(self.said.count("MEGASCOPE_TENSORS"), 1, self.said)
        self.assertIn("MEGASCOPE_TENSORS: *@no_kind is ignored: no_kind is not a tensor kind; the kinds are weight, weight_updated, ", self.said)

    def test_an_unknown_kind_is_a_bad_option(self):
        settings = {"MEGASCOPE_TENSORS": "*@grad_redused", "MEGASCOPE_STRICT": "1"}
        self.assertEqual(self.record(SHOWN, "tensors", ranks=1, code=None, **settings), "")
        self.assertIn("*@grad_redused is ignored: grad_redused is not a tensor kind: did you mean grad_reduced?", self.said)
        settings["MEGASCOPE_STRICT"] = "0"
        self.assertEqual(self.record(SHOWN, "tensors", ranks=1, **settings), "wants 0 0 0\n")

    def test_tensors_that_were_not_requested_leave_nothing(self):
        self.assertEqual(self.record(SHOWN, "tensors", ranks=1, MEGASCOPE_EXPORT="chrome"), "wants 0 0 0\n")
        self.assertEqual([event for event in self.events() if event["ph"] in "Ci"], [])

    def test_bad_tensors_are_refused_and_counted(self):
        self.record(SHOWN, "bad", ranks=1, MEGASCOPE_TRACE="full", MEGASCOPE_TENSORS="*")
        self.assertEqual(self.stored_report()["losses"]["refused"], 14)


@unittest.skipIf(FORTRAN == "-", "there is no Fortran compiler for this MPI library")
class Fortran(Case):
    def test_everything_arrives(self):
        self.record(FORTRAN, ranks=2, MEGASCOPE_EXPORT="chrome", MEGASCOPE_TENSORS="h.*", MEGASCOPE_CONTROL="off")
        self.assertEqual({name: row["count"] for name, row in self.stored_report()["regions"].items()}, {"step": 10, "forward": 8})
        self.assertEqual({cause: count for cause, count in self.stored_report()["losses"].items() if count}, {"refused": 2})
        events = [event for event in self.events() if event["pid"] == 1]
        self.assertEqual([event["args"]["step"] for event in events if event["ph"] == "X" and event["name"] == "step"], [0, 1, 2, 3, 4])
        self.assertEqual([event["args"]["layer"] for event in events if event["ph"] == "X" and event["name"] == "forward"], [0, 1, 2, 3])
        self.assertEqual([event["args"]["value"] for event in events if event["ph"] == "C"], [0, 1, 2, 3])
        self.assertEqual([event["name"] for event in events if event["ph"] == "i"], ["moment"] * 4)


if __name__ == "__main__":
    reported_skips.main()
