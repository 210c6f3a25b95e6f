"""Simulates a training job on a tp x pp x dp grid: the begin and end of each operation of each rank (true time, ns).

1F1B with warm-up and cool-down. Tensor-parallel lanes synchronise at each recorded `_reduce`, and inside `backward` without a
record; `loss` contains an all-reduce over dp without a record. Messages between stages are rendezvous. Gradients are reduced over dp
before the optimizer. Written from the README and the data of foreign timelines, not from an analysis.
"""

import collections
import dataclasses
import random

US = 1000.0
MESSAGE_BYTES = 4194304
BACKWARD_TO_FORWARD = 2


@dataclasses.dataclass(frozen=True)
class Times:
    """Usual duration of each kind of operation, in ns."""
    attention: float = 760 * US
    mlp: float = 1160 * US
    embedding: float = 80 * US
    launch: float = 10 * US        # before each mlp, and before each forward
    loss: float = 145 * US
    loss_reduce: float = 30 * US
    reduce: float = 180 * US
    message: float = 90 * US       # one direction
    allreduce: float = 3000 * US
    optimizer: float = 2500 * US
    barrier: float = 18 * US


@dataclasses.dataclass
class Job:
    tp: int = 2
    pp: int = 2
    dp: int = 4
    iterations: int = 20
    micro_batches: int = 8
    layers: int = 4
    jitter: float = 0.02           # sigma of the log-normal factor of each unit of work
    granularity: str = "base"
    seed: int = 1
    times: Times = dataclasses.field(default_factory=Times)
    skew_us: float = 20.0          # sigma of the start of a rank's clock
    drift_ppm: float = 5.0         # sigma

    @property
    def world(self):
        return self.tp * self.pp * self.dp

    def rank(self, tp, pp, dp):
        """tp changes fastest, then dp, then pp."""
        return tp + self.tp * (dp + self.dp * pp)

    def coordinates(self, rank):
        return {"tp": rank % self.tp, "dp": rank // self.tp % self.dp, "pp": rank // (self.tp * self.dp)}

    def lanes(self, pp, dp):
        return [self.rank(lane, pp, dp) for lane in range(self.tp)]

    def stage(self, pp):
        return [self.rank(lane, pp, replica) for replica in range(self.dp) for lane in range(self.tp)]

    def replica(self, dp):
        return sorted(rank for stage in range(self.pp) for rank in self.lanes(stage, dp))


@dataclasses.dataclass(frozen=True)
class Piece:
    """A unit of work that a fault may change. phase: forward, backward, loss or optimizer."""
    rank: int
    iteration: int
    micro_batch: int               # -1: belongs to none
    phase: str
    first: bool                    # first unit of its phase


class Synchronisation(collections.namedtuple("Synchronisation", "key members cost")):
    """A synchronisation: all members leave `cost` after the last one arrived. key: (kind, group, ordinal)."""


class RankProgram:
    """The state of one rank. now: true time. rows: (name, "B" or "E", time, attributes) of the current iteration."""

    def __init__(self, job, rank, faults):
        self.job, self.rank, self.faults = job, rank, faults
        where = job.coordinates(rank)
        self.tp, self.pp, self.dp = where["tp"], where["pp"], where["dp"]
        self.lanes = job.lanes(self.pp, self.dp)
        self.peers_dp = [job.rank(self.tp, self.pp, replica) for replica in range(job.dp)]
        self.reduce_group = [other for other in job.stage(self.pp) if other != rank]
        self.random = random.Random(f"{job.seed}:rank:{rank}")
        self.ordinals = collections.Counter()
        self.costs = {}                # (kind, members): random numbers that are the same on each member
        self.layers = job.layers + sum(fault.extra_layers(self.pp) for fault in faults)
        self.full = job.granularity == "full"
        self.now = 0.0
        self.iteration = -1
        self.rows = []

    def enter(self, name):
        self.rows.append((name, "B", self.now, None))

    def leave(self, name, **attributes):
        self.rows.append((name, "E", self.now, attributes))

    def work(self, usual, phase, micro_batch=-1, first=False):
        piece = Piece(self.rank, self.iteration, micro_batch, phase, first)
        duration = usual * self.random.lognormvariate(0, self.job.jitter)
        for fault in self.faults:
            duration = duration * fault.factor(piece) + fault.pause(piece)
        self.now += duration

    def synchronise(self, kind, members, usual, sigma=0.03):
        """usual: duration after all members have arrived."""
        group = (kind, tuple(members))
        self.ordinals[group] += 1
        if group not in self.costs:
            self.costs[group] = random.Random(f"{self.job.seed}:{group}")
        cost = usual * self.costs[group].lognormvariate(0, sigma)
        self.now = yield Synchronisation((*group, self.ordinals[group]), len(members), cost)

    def tensor_reduce(self, visible):
        name = "_reduce"
        if visible:
            self.enter(name)
        if self.job.tp > 1:
            yield from self.synchronise(name if visible else "backward", self.lanes, self.job.times.reduce)
        if visible:
            self.leave(name, expect=name, group=(self.reduce_group if self.job.tp > 1 else None))

    def nested(self, names, body):
        """Runs `body` inside regions that exist with full granularity only."""
        for name in names if self.full else ():
            self.enter(name)
        yield from body
        for name in reversed(names) if self.full else ():
            self.leave(name)

    def block(self, usual, micro_batch, first):
        self.work(usual, "forward", micro_batch, first)
        yield from self.tensor_reduce(visible=True)

    def layer(self, micro_batch, first):
        times = self.job.times
        yield from self.nested(["_forward_attention", "attention"], self.block(times.attention, micro_batch, first))
        yield from self.nested(["_forward_mlp", "mlp", "MLP.forward"], self.block(times.mlp + times.launch, micro_batch, False))

    def decoder(self, micro_batch):
        for index in range(self.layers):
            yield from self.nested(["transformer_layer"], self.layer(micro_batch, index == 0))

    def loss(self, micro_batch):
        self.enter("loss")
        extra = sum(fault.extra_loss_ns(self.job) for fault in self.faults)
        self.work(self.job.times.loss + extra, "loss", micro_batch, True)
        if self.job.dp > 1:
            yield from self.synchronise("loss", self.peers_dp, self.job.times.loss_reduce)
        else:
            self.now += self.job.times.loss_reduce
        self.leave("loss")

    def forward(self, name, micro_batch):
        self.enter(name)
        if self.pp == 0:
            self.work(self.job.times.embedding, "forward", micro_batch)
            yield from self.tensor_reduce(visible=True)
        yield from self.nested(["decoder"], self.decoder(micro_batch))
        if self.pp == self.job.pp - 1:
            yield from self.loss(micro_batch)
        self.leave(name, micro_batch_index=micro_batch)

    def backward(self, name, micro_batch):
        self.enter(name)
        times = self.job.times
        for index in range(self.layers):
            for usual in (times.mlp, times.attention):
                self.work(BACKWARD_TO_FORWARD * usual, "backward", micro_batch, index == 0 and usual == times.mlp)
                yield from self.tensor_reduce(visible=False)
        self.leave(name, micro_batch_index=micro_batch)

    def launch(self):
        """The host's time between a receive of a stage and its next forward."""
        self.now += self.job.times.launch
        if self.random.random() < 0.2:
            self.now += self.random.expovariate(1 / (12 * US))

    def message(self, name, other_stage, directions, micro_batch, with_expect=None, with_group=True):
        """A message operation with another stage. Empty if there is none (first and last stage). directions: 1, or 2 for an exchange."""
        self.enter(name)
        begin, exists = self.now, 0 <= other_stage < self.job.pp
        if exists:
            stages = sorted((self.pp, other_stage))
            pair = [self.job.rank(self.tp, stage, self.dp) for stage in stages]
            factor = 1.0
            for fault in self.faults:
                factor *= fault.link_factor(pair, self.iteration)
            yield from self.synchronise("message", pair, directions * self.job.times.message * factor)
        attributes = {} if micro_batch is None else {"micro_batch_index": micro_batch}
        if with_expect:
            attributes["expect"] = with_expect
        size = directions * MESSAGE_BYTES if exists else None
        attributes["data"] = size
        if with_group:
            attributes["group"] = [self.job.rank(self.tp, other_stage, self.dp)] if exists else None
        attributes["bandwidth"] = size / 2**27 / ((self.now - begin) / 1e9) if exists else None
        self.leave(name, **attributes)

    def pipeline(self):
        """The 1F1B schedule of one iteration."""
        count = self.job.micro_batches
        warmup = min(self.job.pp - 1 - self.pp, count)
        before, after = self.pp - 1, self.pp + 1
        for index in range(warmup):
            yield from self.message("recv-warmup", before, 1, index, "send-warmup")
            yield from self.forward("forward-warmup", index)
            yield from self.message("send-warmup", after, 1, index, "recv-warmup")
        steady = count - warmup
        if steady > 0:
            yield from self.message("recv-extra", before, 1, warmup, "send-warmup")
        for index in range(steady):
            self.launch()
            yield from self.forward("forward", warmup + index)
            yield from self.message("exchange-next", after, 2, None, "exchange-prev")
            yield from self.backward("backward", index)
            if index < steady - 1:
                yield from self.message("exchange-prev", before, 2, None, "exchange-next")
            else:
                yield from self.message("send-extra", before, 1, warmup + index, with_group=False)
        for index in range(steady, count):
            yield from self.message("recv-cooldown", after, 1, index, with_group=False)
            yield from self.backward("backward-cooldown", index)
            yield from self.message("send-cooldown", before, 1, index, with_group=False)

    def without_pipeline(self):
        for index in range(self.job.micro_batches):
            self.launch()
            yield from self.forward("forward", index)
            yield from self.backward("backward", index)

    def one_iteration(self):
        yield from self.pipeline() if self.job.pp > 1 else self.without_pipeline()
        self.enter("allreduce")
        yield from self.synchronise("allreduce", self.peers_dp, self.job.times.allreduce, 0.04)
        self.leave("allreduce")
        self.enter("optimizer")
        self.work(self.job.times.optimizer, "optimizer", first=True)
        self.leave("optimizer")

    def begin(self, iteration, time):
        self.iteration, self.rows = iteration, []
        self.now = time + self.random.gauss(0, 1.2 * US)


def run_until_blocked(programs, steps):
    """Runs an iteration of all ranks. A rank runs until it synchronises; when a synchronisation is complete, its members continue."""
    arrived = collections.defaultdict(list)
    ready = list(range(len(programs)))
    values = [None] * len(programs)
    while ready:
        rank = ready.pop()
        try:
            sync = steps[rank].send(values[rank])
        except StopIteration:
            continue
        waiting = arrived[sync.key]
        waiting.append(rank)
        if len(waiting) == sync.members:
            end = max(programs[member].now for member in waiting) + sync.cost
            for member in waiting:
                values[member] = end
            ready += arrived.pop(sync.key)
    if arrived:
        raise RuntimeError(f"the schedule deadlocks: {sorted(arrived)[:3]}")


def simulate(job, faults=()):
    """Yields for each iteration its begin, the begin of the next one, and (rows, end) of each rank."""
    programs = [RankProgram(job, rank, faults) for rank in range(job.world)]
    noise = random.Random(f"{job.seed}:barrier")
    begin = 0.0
    for iteration in range(job.iterations):
        for program in programs:
            program.begin(iteration, begin)
        run_until_blocked(programs, [program.one_iteration() for program in programs])
        end = max(program.now for program in programs) + job.times.barrier * noise.lognormvariate(0, 0.1)
        yield begin, end, [(program.rows, program.now) for program in programs]
        begin = end


def mean_iteration_ns(job, faults=()):
    durations = [end - begin for begin, end, _ in simulate(job, faults)]
    return sum(durations) / len(durations)
