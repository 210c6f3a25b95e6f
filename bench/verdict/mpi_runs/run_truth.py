"""The correct outputs for a simulated MPI run, in the form of ../timeline_truth.py."""

NEGLIGIBLE = 0.005


def entry(kinds, ranks, part=False):
    return {"kinds": kinds, "ranks": sorted(ranks), "part": part}


def sets_of_ranks(fault, job):
    """Correct sets for slow ranks. If the run has parallel groups and the ranks are exactly one stage or replica, they include that cause,
    because the two cannot be distinguished; for a replica that varies between steps, uneven input."""
    ranks = sorted(fault.ranks)
    kinds = ["slow_compute", "slow_host"] if len(ranks) > 1 else ["slow_compute"]
    result = [entry(kinds, ranks)]
    if job.shape == "master_worker" and 0 in ranks:  # the master does almost no work
        result.append(entry(kinds, ranks[1:]))
    groups = job.of.groups(job, ranks[0])
    if not groups:
        return result
    if job.shape == "pipeline":
        if fault.when.is_always and any(ranks == job.of.stage(stage) for stage in range(job.of.pp)):
            result.append(entry(["stage_imbalance"], ranks))
        fills_replica = any(ranks == job.of.replica(replica) for replica in range(job.of.dp))
    else:
        fills_replica = len(ranks) == 1
    if fills_replica and not fault.when.is_always:
        result.append(entry(["input_imbalance"], ranks))
    return result


def sets_of(fault, job):
    if fault.cause == "slow_link":
        return [entry(["slow_link", "slow_network"], fault.ranks, part=False)]
    if fault.cause == "host_stall":
        return [entry(["host_stall"], fault.ranks)]
    return sets_of_ranks(fault, job)


def ground_truth(job, faults, healthy_ns, time_ns):
    lost = max(0.0, 1 - healthy_ns / time_ns)
    answers = [[one] for fault in faults for one in sets_of(fault, job)]
    observable = "yes" if len(answers) == 1 else "ambiguous"
    if not faults:
        observable, answers = "healthy", [[]]
    elif lost < NEGLIGIBLE:
        observable, answers = "negligible", [*answers, []]
    group = "healthy" if not faults else "link" if faults[0].cause == "slow_link" else f"{100 * faults[0].severity:g} %"
    return {"truth": [fault.statement() for fault in faults], "lost_share": round(lost, 5), "observable": observable, "group": group,
            "accept": answers}
