"""Faults of a simulated run. A fault changes work or links of some ranks in some steps, and describes itself."""

import random

LEAST_PAUSES = 4


class Fault:
    """Base class. ranks: affected ranks. severity: 0.1 is 10 % of the time of the affected operations. when: a When."""
    cause = "none"

    def __init__(self, ranks, severity, when):
        self.ranks, self.severity, self.when = frozenset(ranks), severity, when

    def start(self):
        """Called when a simulation begins."""

    def work_factor(self, rank, step):
        return 1.0

    def pause_ns(self, rank, step):
        return 0.0

    def link_factor(self, source, target, step):
        return 1.0

    def statement(self):
        return {"cause": self.cause, "ranks": sorted(self.ranks), "severity": self.severity, **self.when.statement()}


class When:
    """The steps of a fault: all, those of a part of the run (first <= step < until), or every k-th step."""

    def __init__(self, steps, first=0, until=None, every=1):
        self.steps, self.first, self.until, self.every = steps, first, steps if until is None else until, every

    def has(self, step):
        return self.first <= step < self.until and (step - self.first) % self.every == 0

    @property
    def is_always(self):
        return self.first == 0 and self.until == self.steps and self.every == 1

    def statement(self):
        return {"from": self.first, "until": self.until, "every": self.every}


class SlowRanks(Fault):
    """Ranks that compute longer: slow_compute of one rank, slow_host of all ranks of a host."""

    @property
    def cause(self):
        return "slow_host" if len(self.ranks) > 1 else "slow_compute"

    def work_factor(self, rank, step):
        return 1 + self.severity if rank in self.ranks and self.when.has(step) else 1.0


class SlowLink(Fault):
    """Messages between two ranks, both ways, take `factor` times as long."""
    cause = "slow_link"

    def __init__(self, link, factor, severity, when):
        super().__init__(link, severity, when)
        self.factor = factor

    def link_factor(self, source, target, step):
        return self.factor if source in self.ranks and target in self.ranks and self.when.has(step) else 1.0

    def statement(self):
        return {**super().statement(), "factor": self.factor}


class Pauses(Fault):
    """A rank pauses once in some of its steps, before a unit of work. severity: all pauses as a share of its time."""
    cause = "host_stall"

    def __init__(self, rank, severity, step_ns, pieces, when, seed):
        super().__init__([rank], severity, when)
        draw = random.Random(f"{seed}:pauses")
        active = [step for step in range(when.steps) if when.has(step)]
        count = max(min(LEAST_PAUSES, len(active)), round(draw.choice((0.2, 0.35, 0.5)) * len(active)))
        mean_ns = severity * step_ns * len(active) / count
        self.pauses = {step: (draw.randrange(pieces), mean_ns * draw.lognormvariate(0, 0.2))
                       for step in sorted(draw.sample(active, count))}   # step: (number of the unit, ns)
        self.seen = {}

    def start(self):
        self.seen = {}

    def pause_ns(self, rank, step):
        if rank not in self.ranks or step not in self.pauses:
            return 0.0
        piece, pause = self.pauses[step]
        self.seen[step] = self.seen.get(step, -1) + 1
        return pause if self.seen[step] == piece else 0.0

    def statement(self):
        return {**super().statement(), "steps": sorted(self.pauses)}
