"""Rules for contradictions, each on an output written by hand: one that agrees with itself, and one thing changed in it."""

import copy
import os
import sys
import unittest

sys.path[:0] = [sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")]
import contradictions  # pylint: disable=wrong-import-position
import reported_skips  # pylint: disable=wrong-import-position

TEXT = """Rank 1 (dp 0, pp 0, tp 1) computes 1.10 times as long as its 7 peers in the whole run; it costs 3.6
% of the run. Strongest evidence, in step 0 of rank 1: what it computes took 220 ms instead of 200 ms. Ranks
wait for each other 6.0 % of their time, 6 s in all, mostly in exchange-next (late sender). Rank
1 causes 70 % of it, 4.2 s.

Operations that are slower than usual cost 4.6 % of the run: a step takes 262 ms, without them 250
ms.
  S = 1.048: time as it was / time with every operation at the mean (transfers: median) time of its type.
"""
ROOT_CAUSE = {"kind": "slow_compute", "ranks": [1], "groups": {"dp": 0, "pp": 0, "tp": 1}, "factor": 1.1, "onset_step": 0, "last_step": 19,
           "active_steps": 20, "cost_fraction": 0.036, "gain": 1.0373,
           "evidence": {"observed_ns": 220e6, "expected_ns": 200e6}}
ANSWER = {
    "slowdown": 1.048, "loss": {"total": 0.0458, "explained": 0.036}, "culprits": [ROOT_CAUSE],
    "what_if": {"slowdown": 1.048, "step_s": 0.262, "ideal_step_s": 0.25,
                "scenarios": [{"kind": "rank", "name": "rank 1", "gain": 1.0373, "alone": 1.045},
                              {"kind": "group", "name": "pp 0", "gain": 1.04, "alone": 1.04}]},
    "waits": {"total_s": 6.0, "wall_s": 100.0, "kinds": {"late sender": {"s": 5.0}, "wait at NxN": {"s": 1.0}},
              "functions": [{"function": "_reduce", "s": 1.0}, {"function": "exchange-next", "s": 5.0}]},
    "per_rank": [{"rank": rank} for rank in range(16)], "limits": []}


def rules_of(text=TEXT, exit_code=1, change=lambda answer: None):
    answer = copy.deepcopy(ANSWER)
    change(answer)
    return sorted(name for name, _ in contradictions.contradictions(contradictions.Output(text, answer, exit_code)))


def cause(**fields):
    return lambda answer: answer["culprits"][0].update(fields)


def one_more(**fields):
    return lambda answer: answer["culprits"].append({**copy.deepcopy(ROOT_CAUSE), **fields})


class Text(unittest.TestCase):
    def test_an_output_that_agrees_with_itself_has_none(self):
        self.assertEqual(rules_of(), [])

    def test_a_cost_that_json_does_not_have(self):
        self.assertEqual(rules_of(TEXT.replace("costs 3.6", "costs 4.1")), ["text_has_the_costs_of_json"])

    def test_a_factor_that_json_does_not_have(self):
        self.assertEqual(rules_of(TEXT.replace("1.10 times as long", "1.12 times as long")), ["text_has_the_factors_of_json"])

    def test_a_slowdown_that_json_does_not_have(self):
        self.assertEqual(rules_of(TEXT.replace("S = 1.048", "S = 1.058")), ["text_has_the_slowdown_of_json"])

    def test_a_loss_that_json_does_not_have(self):
        self.assertEqual(rules_of(TEXT.replace("cost 4.6 %", "cost 5.6 %")), ["shares_of_the_run_within_the_total_loss", "text_has_the_loss_of_json"])

    def test_a_place_of_the_loss_that_json_does_not_have(self):
        said = TEXT + " No cause was found for it, but most of it is lost on rank 4: without what is slow there the run would be 1.06 times as fast."
        self.assertEqual(rules_of(said), ["text_has_the_place_of_the_loss_of_json"])
        mostly = {"kind": "rank", "name": "rank 4", "gain": 1.06}
        self.assertEqual(rules_of(change=lambda answer: answer["loss"].update(mostly_in=mostly)), ["text_has_the_place_of_the_loss_of_json"] * 2)

    def test_a_root_cause_although_no_rank_stands_out(self):
        self.assertEqual(rules_of(TEXT + "No rank stands out as the cause."), ["no_rank_stands_out_where_one_is_named"])

    def test_an_exit_code_that_hides_a_root_cause(self):
        self.assertEqual(rules_of(exit_code=0), ["exit_code_says_what_was_found"])

    def test_waits_that_json_does_not_have(self):
        self.assertEqual(rules_of(TEXT.replace("6.0 % of their time", "5.0 % of their time")), ["text_has_the_waits_of_json"])

    def test_another_rank_that_is_blamed(self):
        self.assertEqual(rules_of(TEXT.replace("Rank\n1 causes", "Rank\n13 causes")), ["one_rank_is_blamed"])

    def test_a_share_above_all(self):
        self.assertEqual(rules_of(TEXT.replace("70 % of it", "170 % of it")), ["shares_are_shares"])

    def test_a_share_of_the_run_above_what_was_lost(self):
        self.assertEqual(rules_of(TEXT + "The link costs 7.2 % of the run."), ["shares_of_the_run_within_the_total_loss"])

    def test_an_explanation_that_does_not_add_up(self):
        self.assertEqual(rules_of(TEXT + "This explains 79 % of what was lost."), [])
        self.assertEqual(rules_of(TEXT + "This explains 40 % of what was lost."), ["explained_is_what_the_causes_cost"])


class FunctionsAndKinds(unittest.TestCase):
    def rules(self, phrase):
        return rules_of(TEXT.replace("exchange-next (late sender)", phrase))

    def test_a_function_that_has_no_such_waits(self):
        for phrase in ("MPI_Recv (wait at NxN)", "MPI_Barrier (late sender)", "MPI_Bcast (wait at NxN)", "MPI_Allreduce (late broadcast)",
                       "MPI_Send (wait at barrier)", "MPI_Alltoall (wait at scan)", "MPI_Allreduce (late receiver)"):
            self.assertEqual(self.rules(phrase), ["function_and_kind_belong_together"], phrase)

    def test_functions_that_have_them(self):
        for phrase in ("MPI_Recv (late sender)", "MPI_Waitall (late sender)", "MPI_Allreduce (wait at NxN)", "MPI_Bcast (late broadcast)",
                       "MPI_Barrier (wait at barrier)", "MPI_Reduce (early reduce)", "MPI_Scan (wait at scan)", "MPI_Wait (wait at NxN)"):
            self.assertEqual(self.rules(phrase), [], phrase)

    def test_a_function_that_has_fewer_waits_than_another(self):
        self.assertEqual(self.rules("_reduce (wait at NxN)"), ["function_named_has_the_most_waits"])

    def test_a_kind_that_is_less_than_the_function(self):
        def change(answer):
            answer["waits"]["kinds"]["late sender"]["s"] = 1.0
        self.assertEqual(rules_of(change=change), ["function_named_has_the_most_waits"])


class Costs(unittest.TestCase):
    def test_a_cost_above_the_total_loss(self):
        text = TEXT.replace("costs 3.6\n%", "costs 6.0\n%")
        self.assertEqual(rules_of(text, change=cause(cost_fraction=0.06)),
                         ["cost_agrees_with_the_replay", "cost_within_the_total_loss", "shares_of_the_run_within_the_total_loss"])

    def test_a_rank_that_costs_more_than_it_is_slower(self):
        def in_steps(active):
            return lambda answer: (answer.update(steps=20), answer["culprits"][0].update(active_steps=active))
        self.assertEqual(rules_of(change=in_steps(20)), [])
        self.assertEqual(rules_of(change=in_steps(4)), ["a_rank_costs_what_it_is_slower"])
        told = TEXT.replace("% of the run. Strongest", "% of the run, including other slow operations of the same ranks. Strongest")
        self.assertEqual(rules_of(told, change=in_steps(4)), [])

    def test_a_cost_that_the_replay_does_not_show(self):
        def change(answer):
            answer["culprits"][0]["gain"] = 1.0001
            answer["what_if"]["scenarios"][0].update(gain=1.0001, alone=1.002)
        self.assertEqual(rules_of(change=change), ["cost_agrees_with_the_replay"])

    def test_a_cost_between_the_gain_and_what_it_costs_alone(self):
        def change(answer):
            answer["what_if"]["scenarios"][0]["gain"] = answer["culprits"][0]["gain"] = 1.01
        self.assertEqual(rules_of(change=change), [])

    def test_a_link_has_no_gain(self):
        self.assertEqual(rules_of(change=cause(kind="slow_link", ranks=[1, 9], gain=None)), [])

    def test_costs_that_add_up_to_more_than_all(self):
        self.assertEqual(rules_of(change=one_more(ranks=[2], gain=1.037)), ["costs_add_up_within_the_total_loss"])

    def test_a_stage_may_cost_more_than_all_at_their_usual_times(self):
        text = TEXT.replace("costs 3.6\n%", "costs 7.4\n%").replace("cost 4.6 %", "cost 8.0 %")

        def change(answer):
            cause(kind="stage_imbalance", ranks=list(range(8)), groups={"pp": 0}, cost_fraction=0.074, gain=1.08)(answer)
            answer["loss"]["total"] = 0.08
        self.assertEqual(rules_of(text.replace("Rank\n1 causes 70", "Rank\n2 causes 70"), change=change), [])

    def test_a_part_that_gains_more_than_the_whole(self):
        def change(answer):
            answer["what_if"]["scenarios"][0]["alone"] = 1.07
        self.assertEqual(rules_of(change=change), ["gain_of_a_part_within_the_whole"])

    def test_usual_times_that_are_slower(self):
        def change(answer):
            answer.update({"slowdown": 0.99, "culprits": []})
            answer["what_if"].update(step_s=0.99, ideal_step_s=1.0, scenarios=[])
        self.assertEqual(rules_of("Ranks wait for each other 6.0 % of their time.", change=change), ["usual_times_do_not_slow_the_run"])

    def test_a_slowdown_that_its_steps_do_not_have(self):
        def change(answer):
            answer["what_if"]["ideal_step_s"] = 0.22
        self.assertEqual(rules_of(change=change), ["slowdown_is_the_ratio_of_its_steps"])

    def test_no_rank_waits_for_an_expensive_rank(self):
        def change(answer):
            answer["waits"]["total_s"] = 0.14
        text = TEXT.replace("6.0 % of their time", "0.14 % of their time")
        self.assertEqual(rules_of(text, change=change), ["somebody_waits_for_what_is_slow"])

    def test_others_may_wait_for_transfers_instead(self):
        def change(answer, mpi_s):
            answer["waits"]["total_s"] = 0.14
            answer["per_rank"] = [{"rank": rank, "wall_s": 6.0, "mpi_s": mpi_s if rank != 1 else 5.0} for rank in range(16)]
        text = TEXT.replace("6.0 % of their time", "0.14 % of their time")
        self.assertEqual(rules_of(text, change=lambda answer: change(answer, 0.2)), [])
        self.assertEqual(rules_of(text, change=lambda answer: change(answer, 0.05)), ["somebody_waits_for_what_is_slow"])

    def test_waits_of_ranks_without_a_trace_are_not_seen(self):
        def change(answer):
            answer["waits"]["total_s"] = 0.14
            answer["limits"] = ["No trace of 48 ranks is available. Waits for ranks without a trace are not detected."]
        self.assertEqual(rules_of(TEXT.replace("6.0 % of their time", "0.14 % of their time"), change=change), [])


class RootCauses(unittest.TestCase):
    def test_two_sentences_about_a_rank(self):
        self.assertEqual(rules_of(change=one_more(kind="input_imbalance", ranks=[0, 1], groups={"dp": 0}, cost_fraction=0.002, gain=1.002)),
                         ["one_sentence_about_a_rank"])

    def test_a_pause_and_more_work_of_a_rank_are_two_causes(self):
        self.assertEqual(rules_of(change=one_more(kind="host_stall", cost_fraction=0.002, gain=1.002)), [])

    def test_a_stage_and_one_of_its_ranks_are_two_causes_where_the_output_says_so_in_text_and_json(self):
        within = {"kind": "stage_imbalance", "ranks": [1, 3]}
        said = "Rank 3 computes 1.10 times as long as rank 1, in addition to the extra work of ranks 1, 3, in the whole run; it costs 0.2 % of the run."
        silent = "Rank 3 computes 1.10 times as long as its peer in the whole run; it costs 0.2 % of the run."

        def rules(sentence, **fields):
            def change(answer):
                answer["culprits"][0].update(kind="stage_imbalance", ranks=[1, 3])
                one_more(kind="slow_compute", ranks=[3], cost_fraction=0.002, gain=1.002, **fields)(answer)
            return rules_of(TEXT + sentence, change=change)
        self.assertEqual(rules(said, within=within), [])
        for sentence, fields in ((said, {}), (silent, {"within": within}), (said, {"within": {"kind": "stage_imbalance", "ranks": [3, 5]}})):
            self.assertEqual(rules(sentence, **fields), ["one_sentence_about_a_rank"], (sentence, fields))

    def test_a_stage_and_a_replica_that_cross_are_two_causes(self):
        def change(answer):
            answer["culprits"][0].update(kind="stage_imbalance", ranks=[1, 3])
            one_more(kind="input_imbalance", ranks=[0, 1], groups={"dp": 0}, cost_fraction=0.002, gain=1.002)(answer)
        self.assertEqual(rules_of(change=change), [])

    def test_what_two_causes_share_is_counted_once(self):
        def change(answer, cost):
            answer["culprits"][0]["cost_fraction"] = 0.02
            one_more(kind="host_stall", cost_fraction=cost, gain=1.0373)(answer)
        text = TEXT.replace("costs 3.6\n%", "costs 2.0\n%")
        self.assertEqual(rules_of(text, change=lambda answer: change(answer, 0.018)), [])
        self.assertEqual(rules_of(text, change=lambda answer: change(answer, 0.002)), ["cost_agrees_with_the_replay"] * 2)

    def test_two_sentences_about_a_rank_at_different_times(self):
        def change(answer):
            answer["culprits"][0].update(last_step=9, active_steps=10)
            one_more(onset_step=12, active_steps=8, cost_fraction=0.002)(answer)
            answer["culprits"][1]["gain"] = 1.0373
        self.assertEqual(rules_of(change=change), ["cost_agrees_with_the_replay"])  # both cannot be all of rank 1's gain

    def test_a_slow_rank_that_is_not_slower(self):
        text = TEXT.replace("1.10 times", "0.98 times")
        change = cause(factor=0.98, evidence={"observed_ns": 196e6, "expected_ns": 200e6})
        self.assertEqual(rules_of(text, change=change), ["a_slow_rank_is_slower"] * 2)

    def test_more_steps_than_there_are(self):
        self.assertEqual(rules_of(change=cause(active_steps=21)), ["steps_are_within_the_run"])


class Rules(unittest.TestCase):
    def test_each_has_a_reason(self):
        for rule in contradictions.RULES:
            self.assertGreater(len(rule.__doc__ or ""), 40, rule.__name__)


if __name__ == "__main__":
    reported_skips.main()
