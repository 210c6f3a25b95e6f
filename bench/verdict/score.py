"""Compares an output of `megascope analyze --json` with those that ground_truth.json accepts (timeline_truth.py)."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Said:
    """A cause that the output names."""
    kind: str
    ranks: frozenset

    def __str__(self):
        return f"{self.kind} {ranks_text(self.ranks)}"


@dataclasses.dataclass
class Score:
    """found: accepted sets whose ranks are named. named: those of them with a correct kind. missed: the other sets. wrong: root causes that
    belong to no set."""
    found: int = 0
    named: int = 0
    missed: int = 0
    wrong: int = 0

    @property
    def ranks_right(self):
        return self.missed == 0 and self.wrong == 0

    @property
    def right(self):
        return self.ranks_right and self.named == self.found

    def better(self):
        """Key for the alternative that fits best."""
        return (self.right, self.ranks_right, self.found - self.wrong - self.missed, self.named)


def ranks_text(ranks):
    """0-3,8"""
    parts, ordered = [], sorted(ranks)
    for rank in ordered:
        if parts and parts[-1][1] == rank - 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def said_of(answer):
    return [Said(cause["kind"], frozenset(cause["ranks"])) for cause in answer["culprits"]]


def against(said, sets):
    """Compares causes with one accepted list of sets. Each cause belongs to the smallest set that contains its ranks; sets that accept
    its kind are preferred. An `exact` set contains no causes of other kinds."""
    score, members = Score(), [[] for _ in sets]
    for cause in said:
        holding = [index for index, one in enumerate(sets)
                   if cause.ranks <= set(one["ranks"]) and (cause.kind in one["kinds"] or not one.get("exact"))]
        if not holding:
            score.wrong += 1
            continue
        chosen = min(holding, key=lambda index: (cause.kind not in sets[index]["kinds"], len(sets[index]["ranks"])))
        members[chosen].append(cause)
    for one, causes in zip(sets, members):
        all_ranks = frozenset().union(*(cause.ranks for cause in causes))
        if not causes or (all_ranks != set(one["ranks"]) and not one["part"]):
            score.missed += 1
            continue
        score.found += 1
        score.named += all(cause.kind in one["kinds"] for cause in causes)
    return score


def score_of(said, accept):
    """The best score over the alternatives. accept: as in ground_truth.json."""
    return max((against(said, sets) for sets in accept), key=Score.better)


def truth_text(truth):
    """The first accepted output in the form of Said; if there is a fault, the first that names ranks. Empty: 'no rank'."""
    sets = truth["accept"][0]
    if truth["observable"] in ("yes", "ambiguous"):
        sets = next(one for one in truth["accept"] if one)
    return "; ".join(f"{one['kinds'][0]} {ranks_text(one['ranks'])}" for one in sets) or "no rank"


def said_text(said):
    return "; ".join(map(str, said)) or "no rank"


@dataclasses.dataclass
class Totals:
    cases: int = 0
    right: int = 0
    ranks_right: int = 0
    healthy: int = 0
    false_positives: int = 0
    healthy_hinted: int = 0  # no cause, but a rank or group on which most of the loss is
    found: int = 0
    named: int = 0
    missed: int = 0
    wrong: int = 0
    failed: int = 0
    contradictions: int = 0

    def add(self, score, is_healthy, contradiction_count, right, has_hint=False):
        """right: score.right, and all else that the case's truth says. has_hint: the answer has `loss.mostly_in`."""
        self.cases += 1
        self.contradictions += contradiction_count
        self.right += right
        self.ranks_right += score.ranks_right
        self.healthy += is_healthy
        self.false_positives += is_healthy and score.wrong > 0
        self.healthy_hinted += is_healthy and has_hint
        for field in ("found", "named", "missed", "wrong"):
            setattr(self, field, getattr(self, field) + getattr(score, field))

    def add_failure(self):
        """Counts a run that could not be imported or analysed as not right."""
        self.cases += 1
        self.failed += 1

    @staticmethod
    def share(part, whole):
        return f"{part / whole:.3f} ({part}/{whole})" if whole else "- (0/0)"

    def lines(self):
        return [f"right: {self.right}/{self.cases} (ranks right: {self.ranks_right}/{self.cases}; could not be analysed: {self.failed})",
                f"precision {self.share(self.found, self.found + self.wrong)}, recall {self.share(self.found, self.found + self.missed)}, "
                f"cause {self.share(self.named, self.found)}",
                f"false positives: {self.false_positives}/{self.healthy} (no cause, but where most is lost: {self.healthy_hinted}); "
                f"contradictions: {self.contradictions}"]
