"""The faults of a simulated job, their costs, and the correct outputs: part of ground_truth.json.

    truth: [{cause, ranks, factor, from, until, …, marginal_share, alone_share}]   iterations from <= i < until
    lost_share: 1 - healthy time / time; both from the simulation with the same random numbers
    observable: healthy, yes, ambiguous (the timeline fits several outputs), negligible (below 0.5 %), no
    accept: alternatives. Each is a list of sets {kinds, ranks, part}; the empty list accepts an output without root causes. An output
        is right if each of its root causes is in a set, by kind and ranks, and the root causes of each set name all of its ranks
        (part: some). Another kind counts as a wrong cause of the right ranks (exact: as a false positive).
"""

import itertools

import timeline_model

NEGLIGIBLE = 0.005
MASKED_BY_ITS_EQUAL = 0.9


def entry(kinds, ranks, part=False):
    return {"kinds": kinds, "ranks": sorted(ranks), "part": part}


def is_transient(fault, job):
    return bool(fault.period) or fault.first > 0 or fault.until < job.iterations


def sets_like(fault, job, ranks):
    """Other correct causes of slow `ranks`: if they are exactly one stage or replica, the two cannot be distinguished."""
    result = []
    filled_stage = any(set(ranks) == set(job.stage(stage)) for stage in range(job.pp))
    filled_replica = any(set(ranks) == set(job.replica(replica)) for replica in range(job.dp))
    if job.pp > 1 and filled_stage and not is_transient(fault, job):
        result.append(entry(["stage_imbalance"], ranks))
    if filled_replica and fault.period:
        result.append(entry(["input_imbalance"], ranks))
    return result


def sets_of_compute(fault, job):
    ranks = fault.ranks
    result = [entry(["slow_compute", "slow_host"] if len(ranks) > 1 else ["slow_compute"], ranks)]
    result += sets_like(fault, job, ranks)
    if fault.phases == {"backward"} and job.tp > 1:  # lanes synchronise inside, so they are slow together
        where = job.coordinates(min(ranks))
        lanes = job.lanes(where["pp"], where["dp"])
        result += [entry(["slow_compute", "slow_host"], lanes), *sets_like(fault, job, lanes)]
    return result


def sets_of_stage(fault, job):
    result = [entry(["stage_imbalance"], fault.ranks)]
    if job.dp == 1:
        result.append(entry(["slow_compute", "slow_host"], fault.ranks))
    return result


def sets_of_input(fault, job):
    result = [entry(["input_imbalance"], fault.ranks, part=len(fault.replicas) > 1)]
    if len(fault.ranks) == 1:
        result.append(entry(["slow_compute"], fault.ranks))
    return result


def sets_of_link(fault, job):
    return [entry(["slow_link", "slow_network"], fault.ranks, part=True)]


def sets_of_stall(fault, job):
    return [entry(["host_stall"], fault.ranks)]


SETS = {"slow_compute": sets_of_compute, "slow_host": sets_of_compute, "stage_imbalance": sets_of_stage,
        "input_imbalance": sets_of_input, "slow_link": sets_of_link, "slow_network": sets_of_link, "host_stall": sets_of_stall}


def share(faster_ns, slower_ns):
    return max(0.0, 1 - faster_ns / slower_ns)


def costs(job, faults, faulty_ns):
    """(healthy time, for each fault (marginal, standalone) share of the run)."""
    healthy_ns = timeline_model.mean_iteration_ns(job) if faults else faulty_ns
    result = []
    for fault in faults:
        others = [other for other in faults if other is not fault]
        without_ns = timeline_model.mean_iteration_ns(job, others) if others else healthy_ns
        alone_ns = timeline_model.mean_iteration_ns(job, [fault]) if others else faulty_ns
        result.append((share(without_ns, faulty_ns), share(healthy_ns, alone_ns)))
    return healthy_ns, result


def is_required(marginal, alone, total):
    return marginal >= NEGLIGIBLE or (alone >= NEGLIGIBLE and alone >= MASKED_BY_ITS_EQUAL * total)


def alternatives(job, faults, shares, total):
    """The correct outputs: one set of each required fault, with or without sets of the other faults."""
    choices = []
    for fault, (marginal, alone) in zip(faults, shares):
        sets = [[one] for one in SETS[fault.cause](fault, job)]
        unseen = fault.cause == "slow_network"  # there is nothing to compare it with
        choices.append(sets if is_required(marginal, alone, total) and not unseen else [[], *sets])
    return [sum(combination, []) for combination in itertools.product(*choices)]


def observable(faults, answers, total):
    if not faults:
        return "healthy"
    if total < NEGLIGIBLE:
        return "negligible"
    if any(fault.cause == "slow_network" for fault in faults):
        return "no"
    return "yes" if len(answers) == 1 else "ambiguous"


def ground_truth(job, faults, faulty_ns):
    healthy_ns, shares = costs(job, faults, faulty_ns)
    total = share(healthy_ns, faulty_ns)
    answers = alternatives(job, faults, shares, total)
    truth = [{**fault.statement(job), "marginal_share": round(marginal, 5), "alone_share": round(alone, 5)}
             for fault, (marginal, alone) in zip(faults, shares)]
    return {"truth": truth, "healthy_iteration_ns_mean": healthy_ns, "lost_share": round(total, 5),
            "observable": observable(faults, answers, total), "accept": answers}
