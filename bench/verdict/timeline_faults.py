"""Faults of a simulated job. A fault changes units of work, links or layers, and describes itself for ground_truth.json."""

import random

EVER = 1 << 30


class Fault:
    """Base class: changes nothing. cause: its name in ground_truth.json."""
    cause = "none"

    def __init__(self, ranks=(), factor=1.0, first=0, until=EVER, period=0, phases=None):
        self.ranks, self.factor_, self.phases = frozenset(ranks), factor, phases
        self.first, self.until, self.period = first, until, period

    def is_active(self, iteration):
        """period: the fault is active in the first of every `period` iterations; 0: in all."""
        return self.first <= iteration < self.until and (not self.period or (iteration - self.first) % self.period == 0)

    def factor(self, piece):
        return 1.0

    def pause(self, piece):
        return 0.0

    def link_factor(self, pair, iteration):
        return 1.0

    def extra_layers(self, stage):
        return 0

    def extra_loss_ns(self, job):
        return 0.0

    def statement(self, job):
        """The description of this fault for ground_truth.json."""
        result = {"cause": self.cause, "ranks": sorted(self.ranks), "factor": self.factor_,
                  "from": self.first, "until": min(self.until, job.iterations)}
        if self.period:
            result["period"] = self.period
        if self.phases:
            result["phases"] = sorted(self.phases)
        return result


class SlowCompute(Fault):
    """Ranks compute `factor` times as long. phases: only in these phases."""
    cause = "slow_compute"

    def factor(self, piece):
        hit = piece.rank in self.ranks and self.is_active(piece.iteration) and (not self.phases or piece.phase in self.phases)
        return self.factor_ if hit else 1.0


class SlowHost(SlowCompute):
    """All ranks of a host compute `factor` times as long."""
    cause = "slow_host"


class StageImbalance(Fault):
    """A stage has more layers, or its loss takes longer, in every replica."""
    cause = "stage_imbalance"

    def __init__(self, job, stage, layers=0, loss_share=0.0):
        share = layers / job.layers + loss_share
        super().__init__(job.stage(stage), 1 + share)
        self.stage, self.layers, self.loss_share = stage, layers, loss_share

    def extra_layers(self, stage):
        return self.layers if stage == self.stage else 0

    def extra_loss_ns(self, job):
        """loss_share: duration of the loss as a share of the work of a micro-batch."""
        return self.loss_share * 3 * job.layers * (job.times.attention + job.times.mlp)

    def statement(self, job):
        return {**super().statement(job), "groups": {"pp": self.stage}}


class InputImbalance(Fault):
    """The work of replicas varies from step to step, equally on all ranks of a replica, by the factor 1 + |normal| * spread."""
    cause = "input_imbalance"

    def __init__(self, job, replicas, spread):
        super().__init__(sorted(rank for replica in replicas for rank in job.replica(replica)), 1 + spread)
        self.replicas, self.spread, self.seed = list(replicas), spread, job.seed
        self.replica_of = {rank: replica for replica in replicas for rank in job.replica(replica)}
        self.drawn = {}

    def factor(self, piece):
        replica = self.replica_of.get(piece.rank)
        if replica is None or piece.phase == "optimizer":
            return 1.0
        key = (replica, piece.iteration)
        if key not in self.drawn:
            self.drawn[key] = 1 + abs(random.Random(f"{self.seed}:input:{key}").gauss(0, self.spread))
        return self.drawn[key]

    def statement(self, job):
        return {**super().statement(job), "groups": {"dp": self.replicas}}


class SlowLink(Fault):
    """Transfers between two stages take `factor` times as long. replica None: between all stages, in all replicas."""
    cause = "slow_link"

    def __init__(self, job, edge, replica, factor, first=0, until=EVER):
        self.edge, self.replica = edge, replica
        edges = range(job.pp - 1) if edge is None else [edge]
        replicas = range(job.dp) if replica is None else [replica]
        self.links = [(job.rank(lane, at, copy), job.rank(lane, at + 1, copy))
                      for at in edges for copy in replicas for lane in range(job.tp)]
        super().__init__({rank for link in self.links for rank in link}, factor, first, until)
        self.slow = set(self.links)

    def link_factor(self, pair, iteration):
        return self.factor_ if tuple(pair) in self.slow and self.is_active(iteration) else 1.0

    def statement(self, job):
        return {**super().statement(job), "links": [list(link) for link in self.links]}


class SlowNetwork(SlowLink):
    cause = "slow_network"

    def __init__(self, job, factor):
        super().__init__(job, None, None, factor)


class HostStall(Fault):
    """One rank pauses sometimes, as in garbage collection. rate: mean number of pauses in a forward or backward."""
    cause = "host_stall"

    def __init__(self, job, rank, rate, pause_ns):
        super().__init__([rank])
        self.rank, self.rate, self.pause_ns, self.seed = rank, rate, pause_ns, job.seed

    def pause(self, piece):
        if piece.rank != self.rank or not piece.first or piece.phase not in ("forward", "backward"):
            return 0.0
        draw = random.Random(f"{self.seed}:stall:{piece}")  # the same in each simulation
        return self.pause_ns * draw.lognormvariate(0, 0.3) if draw.random() < self.rate else 0.0

    def statement(self, job):
        return {**super().statement(job), "rate": self.rate, "pause_ns": self.pause_ns}
