"""Finds statements of one output of `megascope analyze` that exclude each other, in its text, its JSON and its exit code.

A rule takes an Output and yields sentences. Its docstring states why the statements exclude each other. Numbers may differ by rounding.
"""

import dataclasses
import re

SHARE_TOLERANCE = 0.005            # of the run
PAUSES = ("host_stall", "stopped", "blocked", "off_cpu", "preempted")   # causes for which a rank does not compute
RULES = []

POINT_TO_POINT = re.compile(r"send|recv|receive|exchange|wait|probe|test|start|p2p|message", re.I)
KIND_OF_FUNCTIONS = {
    "late sender": POINT_TO_POINT,
    "late receiver": POINT_TO_POINT,
    "wait at barrier": re.compile(r"barrier|fence|wait", re.I),
    "wait at NxN": re.compile(r"all|reduce|gather|scatter|loss|sync|wait|backward|comm_|win_|file_|init|finalize|barrier|test|nccl|coll",
                              re.I),
    "early reduce": re.compile(r"reduce|gather|wait|test", re.I),
    "late broadcast": re.compile(r"bcast|broadcast|scatter|wait|test", re.I),
    "wait at scan": re.compile(r"scan|wait|test", re.I),
}
NOT_NXN = re.compile(r"^MPI_(I?[SBR]?send(_init)?|I?m?recv(_init)?|Sendrecv(_replace)?|I?m?probe|I?bcast|I?e?x?scan)$", re.I)


ALLOWED_COST, LITTLE_COST = 1.5, 0.005  # steps differ in length, and steps in which a rank is slow are longer


@dataclasses.dataclass
class Output:
    text: str
    answer: dict
    exit_code: int = 1

    @property
    def flat(self):
        return re.sub(r"\s+", " ", self.text)

    @property
    def causes(self):
        return self.answer.get("culprits") or []

    @property
    def slowdown(self):
        return self.answer.get("slowdown")

    def scenarios(self):
        return (self.answer.get("what_if") or {}).get("scenarios") or []

    def total_loss(self):
        """Upper bound for the cost of all causes together, as a share: `loss.total`; for versions without it 1 - 1/S, or the same with
        the gain of a stage, if that is larger."""
        if self.answer.get("loss"):
            return self.answer["loss"]["total"]
        if not self.slowdown:
            return None
        stages = [cause["gain"] for cause in self.causes if cause["kind"] == "stage_imbalance" and cause.get("gain")]
        return 1 - 1 / max([self.slowdown, *stages])


def rule(function):
    RULES.append(function)
    return function


def contradictions(output):
    """Returns (name of the rule, sentence) for each contradiction."""
    return [(function.__name__, sentence) for function in RULES for sentence in function(output)]


def decimals_half(text):
    """Returns half a unit of the last decimal of a printed number: 1.03 -> 0.005."""
    return 0.5 * 10 ** -(len(text.partition(".")[2]))


def agrees(printed, value):
    """Returns whether `printed` is `value`, rounded."""
    return abs(float(printed) - value) <= decimals_half(printed) * 1.02 + 1e-9


def name_of(cause):
    ranks = cause["ranks"]
    return f"{cause['kind']} of ranks {', '.join(map(str, ranks[:8]))}{', ...' if len(ranks) > 8 else ''}"


def percent(share):
    return f"{100 * share:.2f} %"


def share_of_steps(output, cause):
    """Returns the share of steps in which a cause is active; None: unknown."""
    return cause["active_steps"] / output.answer["steps"] if output.answer.get("steps") and cause.get("active_steps") else None


def scenario_of(output, cause):
    """Returns the what-if scenario of a cause: that of its rank, stage or replica."""
    names = {f"rank {cause['ranks'][0]}"} if len(cause["ranks"]) == 1 else set()
    if cause["kind"] in ("stage_imbalance", "input_imbalance"):
        key = "pp" if cause["kind"] == "stage_imbalance" else "dp"
        names = {f"{key} {cause.get('groups', {}).get(key)}"}
    return next((one for one in output.scenarios() if one["name"] in names), None)


@rule
def text_has_the_costs_of_json(output):
    """Each cost that the text states is the cost of a root cause of the JSON."""
    for printed in re.findall(r"\bit costs ([\d.]+) % of the run", output.flat):
        if not any(agrees(printed, 100 * cause["cost_fraction"]) for cause in output.causes):
            yield f"the text says that a cause costs {printed} %, and no cause of the JSON does"


@rule
def text_has_the_factors_of_json(output):
    """Each factor that the text states ('N times as long', 'N times the work') is that of a root cause of the JSON."""
    for printed in re.findall(r"([\d.]+) times (?:as long|the work) [^.]*it costs", output.flat):
        if not any(agrees(printed, cause["factor"]) for cause in output.causes):
            yield f"the text says {printed} times, and no cause of the JSON has that factor"


@rule
def text_has_the_slowdown_of_json(output):
    """S of the text and `slowdown` come from the same replay."""
    match = re.search(r"S = ([\d.]+\d)", output.flat)
    if match and output.slowdown and not agrees(match[1], output.slowdown):
        yield f"the text says S = {match[1]}, the JSON {output.slowdown:.4f}"
    if match and not output.slowdown:
        yield f"the text says S = {match[1]}, the JSON has no slowdown"


@rule
def text_has_the_loss_of_json(output):
    """The loss that the text states is `loss.total` of the JSON."""
    match, loss = re.search(r"slower than usual cost ([\d.]+) % of the run", output.flat), output.answer.get("loss")
    if match and (not loss or not agrees(match[1], 100 * loss["total"])):
        yield f"the text says that {match[1]} % were lost, the JSON {loss and percent(loss['total'])}"


@rule
def text_has_the_place_of_the_loss_of_json(output):
    """The text has 'Most of it is lost on ...' if and only if `loss.mostly_in` is set, and never together with a cause."""
    match, mostly = re.search(r"most of it is lost on (.+?): ", output.flat), (output.answer.get("loss") or {}).get("mostly_in")
    if (match and match[1]) != (mostly and mostly["name"]):
        yield f"the text says that most is lost on {match and match[1]}, the JSON {mostly and mostly['name']}"
    if mostly and output.causes:
        yield f"most is lost on {mostly['name']} without a cause, and {name_of(output.causes[0])} is one"


@rule
def a_rank_costs_what_it_is_slower(output):
    """A slowdown by F in a share of the steps prolongs the run by at most F - 1 of that share. The output must state further costs."""
    for cause in output.causes:
        share = share_of_steps(output, cause)
        if cause["kind"] not in ("slow_compute", "slow_host") or share is None:
            continue
        added, cost = share * (cause["factor"] - 1), cause["cost_fraction"]
        told = re.findall(r"costs ([\d.]+) % of the run, including other slow operations of the same ranks", output.flat)
        if cost > ALLOWED_COST * added / (1 + added) + LITTLE_COST and not any(agrees(printed, 100 * cost) for printed in told):
            yield f"{name_of(cause)} is {cause['factor']:.2f} x as slow in {percent(share)} of the run, and costs {percent(cost)}"


@rule
def no_rank_stands_out_where_one_is_named(output):
    """'No rank stands out' and a cause exclude each other."""
    if output.causes and re.search(r"[Nn]o rank stands out|[Nn]obody (?:stands out|is slow)|[Nn]othing (?:stands out|was found)", output.flat):
        yield f"the text says that no rank stands out, the JSON has {name_of(output.causes[0])}"


@rule
def exit_code_says_what_was_found(output):
    """The exit code is 1 if and only if a cause is named, because scripts may check nothing else."""
    if output.causes and output.exit_code == 0:
        yield f"exit code 0, and {name_of(output.causes[0])}"


@rule
def slowdown_is_the_ratio_of_its_steps(output):
    """The printed slowdown is the printed time of a step divided by its printed ideal time."""
    what_if = output.answer.get("what_if") or {}
    if output.slowdown and what_if.get("step_s") and what_if.get("ideal_step_s"):
        ratio = what_if["step_s"] / what_if["ideal_step_s"]
        if abs(ratio / output.slowdown - 1) > 0.01:
            steps = f"{what_if['step_s']:.4g} s instead of {what_if['ideal_step_s']:.4g} s"
            yield f"a step takes {steps}, {ratio:.3f} times, slowdown {output.slowdown:.3f}"


@rule
def cost_within_the_total_loss(output):
    """The cost of one cause is at most the whole loss, 1 - 1/S."""
    total = output.total_loss()
    for cause in output.causes if total is not None else []:
        if cause["cost_fraction"] > total + SHARE_TOLERANCE:
            yield f"{name_of(cause)} costs {percent(cause['cost_fraction'])}, all that was lost is {percent(total)}"


@rule
def costs_add_up_within_the_total_loss(output):
    """The costs of all causes add up to at most the whole loss."""
    total, costs = output.total_loss(), [cause["cost_fraction"] for cause in output.causes]
    if total is not None and len(costs) > 1 and sum(costs) > total + 2 * SHARE_TOLERANCE:
        yield f"{len(costs)} causes cost {percent(sum(costs))} together, all that was lost is {percent(total)}"


def shared_cost(output, cause):
    """Returns the cost of other causes with some of the same ranks and steps. A replay without one of them gains part of the same time."""
    return sum(other["cost_fraction"] for other in output.causes
               if other is not cause and set(other["ranks"]) & set(cause["ranks"]) and overlap_in_time(cause, other))


@rule
def cost_agrees_with_the_replay(output):
    """The cost of a cause is its gain in the replay, its standalone cost, or a value between them. The part that it shares with causes of
    the same ranks (a stage and a rank of it) is counted once, for either of them."""
    for cause in output.causes:
        if not cause.get("gain"):
            continue
        scenario = scenario_of(output, cause)
        gains = [cause["gain"], cause.get("alone") or cause["gain"], *([scenario["gain"], scenario["alone"]] if scenario else [])]
        least, most = 1 - 1 / min(gains), 1 - 1 / max(gains)
        cost, tolerance = cause["cost_fraction"], SHARE_TOLERANCE + 0.1 * most
        if not least - shared_cost(output, cause) - tolerance <= cost <= most + tolerance:
            yield f"{name_of(cause)} costs {percent(cost)}, the run without it is {percent(least)} to {percent(most)} shorter"


@rule
def gain_of_a_part_within_the_whole(output):
    """A run without the slowness of one rank, group or operation is not faster than one without any. The worst one is named."""
    parts, total = output.scenarios(), output.total_loss()
    if total is not None and parts:
        worst, whole = max(parts, key=lambda one: max(one["gain"], one["alone"])), 1 / (1 - total)
        if max(worst["gain"], worst["alone"]) > whole * 1.01:
            yield f"{worst['name']}: {max(worst['gain'], worst['alone']):.3f} times as fast, everything together {whole:.3f}"


@rule
def usual_times_do_not_slow_the_run(output):
    """A run in which all operations take their usual time is not slower than the recorded run: slowdown is at least 1."""
    if output.slowdown and output.slowdown < 0.995:
        yield f"slowdown {output.slowdown:.4f}"


@rule
def shares_of_the_run_within_the_total_loss(output):
    """Each cost that the text states as a share 'of the run' is at most the loss."""
    total = output.total_loss()
    for printed in re.findall(r"costs? (?:up to )?([\d.]+) % of the run", output.flat) if total is not None else []:
        if float(printed) / 100 > total + SHARE_TOLERANCE + decimals_half(printed) / 100:
            yield f"the text says {printed} % of the run, all that was lost is {percent(total)}"


def outside_of_work(output, named):
    """Returns the share of time that ranks other than `named` spend in MPI. There they wait for ranks, or for transfers that began late,
    which are no wait states if the other side had started them."""
    others = [one for one in output.answer.get("per_rank") or [] if one["rank"] not in named and one.get("wall_s")]
    wall_s = sum(one["wall_s"] for one in others)
    return sum(one["mpi_s"] for one in others) / wall_s if wall_s else 0.0


@rule
def somebody_waits_for_what_is_slow(output):
    """While some ranks are slow, the others wait. For a cost c their waits, or their time in MPI, are at least c x others / ranks of the
    time, if hidden waits are at most half of it. Not for timelines of other tools, where much of the waiting is between operations."""
    if output.answer.get("import"):
        return
    waits, world = output.answer.get("waits") or {}, len(output.answer.get("per_rank") or [])
    if not waits.get("wall_s") or not world or any("No trace of" in limit for limit in output.answer.get("limits") or []):
        return  # waits of ranks without a trace are not known
    waited = (waits["total_s"] + waits.get("hidden_s", 0.0)) / waits["wall_s"]
    for cause in output.causes:
        others = max(1, world - len(cause["ranks"])) / world
        spent = max(waited, outside_of_work(output, cause["ranks"]) * others)
        if cause["kind"] != "slow_link" and cause["cost_fraction"] >= 0.02 and spent < 0.5 * cause["cost_fraction"] * others:
            yield f"{name_of(cause)} costs {percent(cause['cost_fraction'])}, and ranks wait {percent(waited)} of their time"


@rule
def text_has_the_waits_of_json(output):
    """'Ranks wait for each other N % of their time' is total_s / wall_s."""
    match, waits = re.search(r"wait for each other ([\d.]+) % of their time", output.flat), output.answer.get("waits") or {}
    if match and waits.get("wall_s") and not agrees(match[1], 100 * waits["total_s"] / waits["wall_s"]):
        yield f"the text says that ranks wait {match[1]} % of their time, the JSON {100 * waits['total_s'] / waits['wall_s']:.3f} %"


def mostly(output):
    """Returns (function, kind) of each phrase 'mostly in FUNCTION (KIND)'."""
    return re.findall(r"mostly in `?([\w.\-]+)`? \(([^)]+)\)", output.flat)


@rule
def function_and_kind_belong_together(output):
    """Each kind of wait state occurs in certain functions only: no late sender in a barrier, no wait at NxN in MPI_Recv."""
    for function, kind in mostly(output):
        pattern = KIND_OF_FUNCTIONS.get(kind)
        if (pattern and not pattern.search(function)) or (kind == "wait at NxN" and NOT_NXN.match(function)):
            yield f"{function} has no {kind}"


@rule
def function_named_has_the_most_waits(output):
    """'Mostly in F (kind)': no other function has more waits, and waits of this kind in F can be most of both totals."""
    waits = output.answer.get("waits") or {}
    functions = {one["function"]: one["s"] for one in waits.get("functions") or []}
    kinds = {name: one["s"] for name, one in (waits.get("kinds") or {}).items()}
    for function, kind in mostly(output):
        if function in functions and functions[function] < max(functions.values()) * 0.999:
            yield f"waits are mostly in {function}, and {max(functions, key=functions.get)} has more"
        elif function in functions and kind in kinds and kinds[kind] < 0.5 * functions[function]:
            yield f"waits are mostly in {function} ({kind}): {functions[function]:.3g} s, and {kind} is {kinds[kind]:.3g} s in all"


def has_steps(cause):
    return cause.get("onset_step") is not None and cause.get("last_step") is not None


def overlap_in_time(one, other):
    if not (has_steps(one) and has_steps(other)):
        return True
    first, second = (one, other) if one["onset_step"] <= other["onset_step"] else (other, one)
    return second["onset_step"] <= first["last_step"]


def claim_the_same(one, other):
    """Returns whether two causes that name the same rank explain the same time of it. A pause and slow work do not. Groups that intersect,
    such as a stage and a replica, do not either, because each has ranks that the other lacks."""
    if (one["kind"] in PAUSES) != (other["kind"] in PAUSES):
        return False
    mine, theirs = set(one["ranks"]), set(other["ranks"])
    return bool(mine & theirs) and (mine <= theirs or theirs <= mine)


def says_within(output, part, whole):
    """Returns whether JSON and text state that `part` is slow in addition to the slowness of all ranks of `whole`."""
    within = part.get("within") or {}
    ranks = part["ranks"]
    sentence = rf"[Rr]anks? \(?{ranks[0]}\b(?:(?!it costs).){{1,300}}? times (?:(?!it costs).){{1,200}}?, in addition to "
    return (within.get("kind") == whole["kind"] and within.get("ranks") == whole["ranks"] and len(ranks) < len(whole["ranks"])
            and re.search(sentence, output.flat) is not None)


@rule
def one_sentence_about_a_rank(output):
    """Two causes that name the same rank in the same steps claim the same lost time. Exceptions: a link may end at a slow rank, and the
    output may state that one cause is in addition to the other."""
    causes = [cause for cause in output.causes if cause["kind"] != "slow_link"]
    for index, one in enumerate(causes):
        for other in causes[index + 1:]:
            if says_within(output, one, other) or says_within(output, other, one):
                continue
            if claim_the_same(one, other) and overlap_in_time(one, other):
                yield f"{name_of(one)} and {name_of(other)} both name rank {min(set(one['ranks']) & set(other['ranks']))}"


@rule
def one_rank_is_blamed(output):
    """The text does not have 'Rank N causes most of the waits' together with a cause of other ranks: the two would be two answers."""
    named = {rank for cause in output.causes for rank in cause["ranks"]}
    for rank in re.findall(r"Rank (\d+) causes [\d.]+ % of it", output.flat):
        if named and int(rank) not in named:
            yield f"rank {rank} causes most of the waits, the root causes are others: {name_of(output.causes[0])}"


@rule
def a_slow_rank_is_slower(output):
    """The factor of a slow rank is above 1, and the observed time is above the expected time."""
    for cause in output.causes:
        evidence = cause.get("evidence") or {}
        if cause["factor"] <= 1:
            yield f"{name_of(cause)}: factor {cause['factor']:.3f}"
        if evidence.get("expected_ns") and evidence["observed_ns"] <= evidence["expected_ns"]:
            yield f"{name_of(cause)}: observed {evidence['observed_ns']:.0f} ns, expected {evidence['expected_ns']:.0f} ns"


@rule
def steps_are_within_the_run(output):
    """A cause is active in at most the steps from its first to its last one, and these are steps of the run."""
    for cause in filter(has_steps, output.causes):
        first, last, active = cause["onset_step"], cause["last_step"], cause["active_steps"]
        if active > last - first + 1 or active < 1:
            yield f"{name_of(cause)}: active in {active} steps, from {first} to {last}"


@rule
def shares_are_shares(output):
    """Shares of the run and of the loss are between 0 and 100 %."""
    for printed in re.findall(r"(-?[\d.]+) % (?:of the run|of it|of their time|of the loss)", output.flat):
        if not 0 <= float(printed) <= 100.5:
            yield f"the text says {printed} %"
    for cause in output.causes:
        if not 0 <= cause["cost_fraction"] <= 1:
            yield f"{name_of(cause)}: cost_fraction {cause['cost_fraction']}"


@rule
def explained_is_what_the_causes_cost(output):
    """'Explained N %' is the cost of all causes together as a share of the loss."""
    match, total = re.search(r"explain(?:s|ed)? ([\d.]+) % of", output.flat), output.total_loss()
    if match and total and output.causes:
        explained = sum(cause["cost_fraction"] for cause in output.causes) / total
        if abs(float(match[1]) / 100 - min(1.0, explained)) > 0.05:
            yield f"the text says that {match[1]} % is explained, the causes cost {100 * explained:.0f} % of what was lost"
