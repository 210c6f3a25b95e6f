"""The program, noise and fault of a seed. Any 72 consecutive seeds have all 6 shapes x 12 faults."""

import random

import faults
import programs

DEV_SEEDS = range(5001, 5289)
HELD_OUT_SEEDS = range(6001, 6721)
SECOND_HELD_OUT_SEEDS = range(7001, 7721)
THIRD_HELD_OUT_SEEDS = range(8001, 8721)
FOURTH_HELD_OUT_SEEDS = range(10001, 10721)
HIDDEN_SEEDS = frozenset().union(HELD_OUT_SEEDS, SECOND_HELD_OUT_SEEDS, THIRD_HELD_OUT_SEEDS, FOURTH_HELD_OUT_SEEDS)
SHAPES = tuple(programs.SHAPES)
PLANS = ("healthy", "slow rank 10 %", "slow rank 5 %", "slow in a part 10 %", "slow in a part 5 %", "slow every k-th 10 %",
         "slow every k-th 5 %", "slow host 10 %", "slow host 5 %", "slow link 10 %", "pauses 10 %", "pauses 5 %")
LINK_FACTORS = (1.5, 2, 3, 5, 8, 12, 20, 40, 80)


class Job:
    """A program and the machine that it runs on."""

    def __init__(self, shape, seed):
        draw = random.Random(f"mpi run:{shape}:{seed}")
        self.shape, self.seed, self.of = shape, seed, programs.SHAPES[shape](draw)
        self.world, self.steps, self.any_source_tags = self.of.world, self.of.steps, self.of.any_source_tags
        self.ranks_per_host = draw.choice([size for size in (4, 8) if 2 * size <= self.world])
        self.work_sigma, self.link_sigma = draw.choice((0.005, 0.01, 0.02, 0.03)), draw.choice((0.02, 0.05, 0.1))
        self.node_sigma, self.drift = draw.choice((0.0, 0.003, 0.006)), draw.choice((0.0, 0.0, 0.1, -0.1, 0.2))
        self.jitter_share = draw.choice((0.0, 0.002, 0.01))
        self.reports_steps = draw.random() < 0.35
        self.start()

    def start(self):
        """Restarts the random numbers, for another simulation of the same run."""
        self.random = [random.Random(f"{self.seed}:work:{rank}") for rank in range(self.world)]
        draw = random.Random(f"{self.seed}:nodes")
        hosts = -(-self.world // self.ranks_per_host)
        self.skews = [draw.uniform(-250, 250) for _ in range(hosts)]
        self.nodes = []                # by step, then host: noise of a node, correlated in time
        now = [draw.gauss(0, self.node_sigma) for _ in range(hosts)]
        for _ in range(self.steps):
            self.nodes.append(now)
            now = [0.6 * value + 0.8 * draw.gauss(0, self.node_sigma) for value in now]

    def host(self, rank):
        return rank // self.ranks_per_host

    def ranks_of_host(self, host):
        return [rank for rank in range(self.world) if self.host(rank) == host]

    def skew_of(self, rank):
        """The remaining error of a corrected clock."""
        return self.skews[self.host(rank)]

    def work_factor(self, rank, step):
        noise = self.random[rank].gauss(0, self.work_sigma) + self.nodes[step][self.host(rank)]
        return max(0.5, 1 + noise + self.drift * step / self.steps)

    def jitter_ns(self, rank):
        """Time for which the system uses the processor, in a few units of work of any rank."""
        draw = self.random[rank]
        return min(2e6, 4e4 * draw.paretovariate(1.3)) if draw.random() < self.jitter_share else 0.0


def when_of(plan, draw, steps):
    if "in a part" in plan:
        length = draw.choice((steps // 4, steps // 2))
        first = draw.randrange(2, steps - length)
        return faults.When(steps, first, first + length)
    if "every" in plan:
        return faults.When(steps, draw.randrange(0, 3), every=draw.choice((2, 3, 4)))
    return faults.When(steps, draw.choice((0, 0, steps // 5)))


def victim(draw, job):
    """Not the master, because it does not compute."""
    return draw.randrange(1 if job.shape == "master_worker" else 0, job.world)


def fault_of(plan, draw, job, simulated):
    """The fault of a plan; None if the shape has no such fault. simulated(faults): time and work of the run, as Simulations.run."""
    severity, when = float(plan.split()[-2]) / 100, when_of(plan, draw, job.steps)
    if plan.startswith("slow host"):
        host = draw.randrange(job.world // job.ranks_per_host)
        return faults.SlowRanks(job.ranks_of_host(host), severity, when)
    if plan.startswith("slow link"):
        links = job.of.links()
        if not links:
            return None
        link, healthy_ns = draw.choice(links), simulated([])[0]
        for factor in LINK_FACTORS:    # the factor whose cost is closest to that of the plan
            fault = faults.SlowLink(link, factor, severity, when)
            if simulated([fault])[0] > healthy_ns * (1 + 0.4 * severity):
                break
        return fault
    rank = victim(draw, job)
    if plan.startswith("pauses"):
        _, work_ns, pieces = simulated([])
        return faults.Pauses(rank, severity, work_ns[rank] / job.steps, max(1, pieces[rank] // job.steps), when, job.seed)
    return faults.SlowRanks([rank], severity, when)


def plan_of(seed):
    """(shape, plan)."""
    index = (seed - 1) % (len(SHAPES) * len(PLANS))
    return SHAPES[index % len(SHAPES)], PLANS[index // len(SHAPES)]
