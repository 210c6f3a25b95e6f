"""The job and the faults of a seed. Any 30 consecutive seeds have the same mixture of cases, 5 of them healthy."""

import random

import timeline_faults
import timeline_model

MAX_RANKS = 32
MAX_LAYER_PASSES = 12000           # limit of ranks x iterations x micro-batches x layers of a run
DEV_SEEDS = range(1, 61)
HELD_OUT_SEEDS = range(1001, 1031)
SECOND_HELD_OUT_SEEDS = range(2001, 2031)
THIRD_HELD_OUT_SEEDS = range(3001, 3031)
FOURTH_HELD_OUT_SEEDS = range(5001, 5031)
HIDDEN_SEEDS = frozenset().union(HELD_OUT_SEEDS, SECOND_HELD_OUT_SEEDS, THIRD_HELD_OUT_SEEDS, FOURTH_HELD_OUT_SEEDS)
FACTORS = (1.05, 1.1, 1.1, 1.2, 1.3, 1.5, 2.0)
SHORT_FACTORS = (1.2, 1.3, 1.5, 2.0)


def draw_job(draw, seed, tp=(1, 2, 4), pp=(1, 2, 4), dp=(1, 2, 4)):
    grids = [(t, p, d) for t in tp for p in pp for d in dp if 4 <= t * p * d <= MAX_RANKS]
    grids += [(2, 2, 4)] * (2 if (2, 2, 4) in grids else 0)
    t, p, d = draw.choice(grids)
    iterations = draw.choice((12, 20, 20, 20, 30))
    layers = draw.choice((4, 4, 6) if p > 2 else (2, 3, 4, 4))
    most = max(p, MAX_LAYER_PASSES // (t * p * d * iterations * layers))
    micro_batches = draw.choice([count for count in (2, 4, 6, 8, 8, 12, 16) if p <= count <= max(most, 4)] or [4])
    return timeline_model.Job(tp=t, pp=p, dp=d, iterations=iterations, micro_batches=micro_batches, layers=layers,
                              jitter=draw.choice((0.01, 0.02, 0.02, 0.03, 0.05, 0.08)),
                              granularity=draw.choice(("base", "base", "full")), seed=seed)


def some_rank(draw, job):
    return draw.randrange(job.world)


def healthy(draw, seed):
    return draw_job(draw, seed), []


def slow_rank(draw, seed):
    job = draw_job(draw, seed)
    return job, [timeline_faults.SlowCompute([some_rank(draw, job)], draw.choice(FACTORS))]


def slow_rank_without_replicas(draw, seed):
    job = draw_job(draw, seed, tp=(2, 4), dp=(1,))
    return job, [timeline_faults.SlowCompute([some_rank(draw, job)], draw.choice(FACTORS))]


def slow_rank_without_lanes(draw, seed):
    job = draw_job(draw, seed, tp=(1,), dp=(2, 4))
    return job, [timeline_faults.SlowCompute([some_rank(draw, job)], draw.choice(FACTORS))]


def slow_in_backward(draw, seed):
    job = draw_job(draw, seed)
    return job, [timeline_faults.SlowCompute([some_rank(draw, job)], draw.choice((1.2, 1.3, 1.5)), phases={"backward"})]


def slow_for_a_while(draw, seed):
    job = draw_job(draw, seed)
    first = draw.randrange(2, job.iterations - 5)
    length = draw.choice((2, 3, 3, 5))
    return job, [timeline_faults.SlowCompute([some_rank(draw, job)], draw.choice(SHORT_FACTORS), first, first + length)]


def slow_from_some_step_on(draw, seed):
    job = draw_job(draw, seed)
    return job, [timeline_faults.SlowCompute([some_rank(draw, job)], draw.choice(SHORT_FACTORS), draw.randrange(4, job.iterations - 3))]


def slow_now_and_then(draw, seed):
    job = draw_job(draw, seed)
    period = draw.choice((2, 3, 5))
    return job, [timeline_faults.SlowCompute([some_rank(draw, job)], draw.choice(SHORT_FACTORS), draw.randrange(period), period=period)]


def slow_lanes(draw, seed):
    job = draw_job(draw, seed, tp=(2,), dp=(2, 4))
    lanes = job.lanes(draw.randrange(job.pp), draw.randrange(job.dp))
    return job, [timeline_faults.SlowCompute(lanes, draw.choice(FACTORS[1:]))]


def two_slow_ranks(draw, seed):
    job = draw_job(draw, seed, dp=(2, 4))
    one = some_rank(draw, job)
    where = job.coordinates(one)
    apart = [rank for rank in range(job.world) if job.coordinates(rank)["dp"] != where["dp"]]
    factor = draw.choice((1.2, 1.3, 1.5))
    other = draw.choice(apart)
    other_factor = factor * draw.choice((1, 1, 0.95))
    return job, [timeline_faults.SlowCompute([one], factor), timeline_faults.SlowCompute([other], other_factor)]


def two_ranks_one_after_the_other(draw, seed):
    job = draw_job(draw, seed, dp=(2, 4))
    half = job.iterations // 2
    one, other = draw.sample(range(job.world), 2)
    return job, [timeline_faults.SlowCompute([one], draw.choice(SHORT_FACTORS), 0, half),
                 timeline_faults.SlowCompute([other], draw.choice(SHORT_FACTORS), half)]


def more_layers(draw, seed):
    job = draw_job(draw, seed, pp=(2, 4))
    return job, [timeline_faults.StageImbalance(job, draw.randrange(job.pp), layers=draw.choice((1, 1, 2)))]


def longer_loss(draw, seed):
    job = draw_job(draw, seed, pp=(2, 4))
    return job, [timeline_faults.StageImbalance(job, job.pp - 1, loss_share=draw.choice((0.05, 0.1, 0.2)))]


def one_replica_varies(draw, seed):
    job = draw_job(draw, seed, dp=(2, 4))
    return job, [timeline_faults.InputImbalance(job, [draw.randrange(job.dp)], draw.choice((0.1, 0.2, 0.4)))]


def all_replicas_vary(draw, seed):
    job = draw_job(draw, seed, dp=(4,))
    return job, [timeline_faults.InputImbalance(job, range(job.dp), draw.choice((0.1, 0.2, 0.4)))]


def slow_link(draw, seed):
    job = draw_job(draw, seed, pp=(2, 4), dp=(2, 4))
    return job, [timeline_faults.SlowLink(job, draw.randrange(job.pp - 1), draw.randrange(job.dp), draw.choice((5, 10, 10, 20, 40)))]


def slow_link_for_a_while(draw, seed):
    job = draw_job(draw, seed, pp=(2, 4), dp=(2, 4))
    first = draw.randrange(2, job.iterations - 7)
    return job, [timeline_faults.SlowLink(job, draw.randrange(job.pp - 1), draw.randrange(job.dp), draw.choice((20, 40)), first, first + 5)]


def slow_network(draw, seed):
    job = draw_job(draw, seed, pp=(2, 4))
    return job, [timeline_faults.SlowNetwork(job, draw.choice((5, 10)))]


def pauses(draw, seed):
    job = draw_job(draw, seed)
    return job, [timeline_faults.HostStall(job, some_rank(draw, job), draw.choice((0.02, 0.05)), draw.choice((15e6, 30e6, 60e6)))]


def slow_replica(draw, seed):
    job = draw_job(draw, seed, dp=(2, 4))
    return job, [timeline_faults.SlowHost(job.replica(draw.randrange(job.dp)), draw.choice((1.1, 1.2, 1.5)))]


CASES = (healthy, slow_rank, slow_rank, slow_rank_without_replicas, slow_for_a_while, slow_link,
         healthy, slow_rank, slow_rank_without_lanes, more_layers, slow_for_a_while, pauses,
         healthy, slow_rank, slow_lanes, one_replica_varies, slow_link, slow_now_and_then,
         healthy, two_slow_ranks, longer_loss, slow_from_some_step_on, slow_link_for_a_while, slow_replica,
         healthy, slow_in_backward, two_ranks_one_after_the_other, all_replicas_vary, pauses, slow_network)


def case_of(seed):
    """(name, job, faults)."""
    make = CASES[(seed - 1) % len(CASES)]
    job, faults = make(random.Random(f"case:{seed}"), seed)
    return make.__name__, job, faults
