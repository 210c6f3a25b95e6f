"""Faults that are injected into one rank of a program, their strength by seed, and the correct outputs.

ground_truth.json is based on measurements: the injected time of each rank (fault_shim.c), its CPU time between MPI calls and its time
on the run queue. Disturbances in addition to the fault, and differences of the programs' own work, may be named but need not be.
"""

import random

RANKS = 4
PREEMPTED_SHARE = 0.05             # a rank with this share of its time on the run queue was preempted
IMBALANCE = 1.03                   # a rank with this multiple of the median work between calls has more work
NEGLIGIBLE = 0.02                  # a fault of less than this share of the time is too small to be found

# Causes that are correct for each fault. A rank that sleeps, is stopped or waits for a disk does not compute longer.
KINDS = {
    "none": (),
    "competitor": ("preempted",),
    "burner": ("preempted",),
    "stops": ("host_stall", "blocked", "stopped"),
    "sleep": ("host_stall", "blocked", "off_cpu"),
    "imbalance": ("slow_compute", "load_imbalance"),
    "disk": ("host_stall", "blocked", "off_cpu", "slow_io"),
    "lock": ("host_stall", "blocked", "off_cpu", "lock"),
    "wire": ("slow_link",),
}
INJECTED = ("sleep", "imbalance", "disk", "lock", "wire")      # by the shim; the others by inject.py
OWN_IMBALANCE = ["slow_compute", "load_imbalance", "stage_imbalance", "input_imbalance"]


def plan(program, fault, seed):
    """Strength of a fault, and the rank that has it."""
    draw = random.Random(f"{program}:{fault}:{seed}")
    return {"program": program, "fault": fault, "seed": seed, "rank": draw.randrange(RANKS),
            "share": draw.choice((0.3, 0.6, 1.0) if fault == "imbalance" else (0.15, 0.25, 0.4)),
            "us": draw.choice((300, 600) if fault == "wire" else (1000, 2000, 5000)),
            "stop_s": draw.choice((0.03, 0.06, 0.1))}


def environment(planned, cores):
    """Environment variables for fault_shim.c."""
    fault = planned["fault"] if planned["fault"] in INJECTED else "none"
    return {"VERDICT_FAULT": fault, "VERDICT_RANK": str(planned["rank"]), "VERDICT_SHARE": str(planned["share"]),
            "VERDICT_US": str(planned["us"]), "VERDICT_CORES": str(cores)}


def victims(planned, ledgers, cores):
    """Ranks that the fault makes slow."""
    if planned["fault"] in ("competitor", "burner"):  # all ranks of the core
        return [rank for rank in range(RANKS) if rank % cores == planned["rank"] % cores]
    if planned["fault"] == "wire":
        return sorted({planned["rank"], ledgers[planned["rank"]]["peer"]} - {-1})
    return [] if planned["fault"] == "none" else [planned["rank"]]


def run_delay(ledgers, ranks):
    """Mean share of time that the ranks spent on the run queue."""
    return sum(ledgers[rank]["run_delay_s"] / ledgers[rank]["wall_s"] for rank in ranks) / max(1, len(ranks))


def injected_share(planned, ledgers, cores, outside_s):
    """Injected time as a share of the run. outside_s: time for which inject.py stopped the rank. For a competitor: the time on the run
    queue by which the ranks of its core exceed the others."""
    if planned["fault"] in ("competitor", "burner"):
        hit = victims(planned, ledgers, cores)
        return max(0.0, run_delay(ledgers, hit) - run_delay(ledgers, [rank for rank in range(RANKS) if rank not in hit]))
    wall = max(ledger["wall_s"] for ledger in ledgers)
    return (ledgers[planned["rank"]]["injected_s"] + outside_s) / wall if wall > 0 else 0.0


def kinds_of(planned, ledgers):
    """Correct causes. Writing may use the CPU instead of waiting for a disk; then the rank computes longer."""
    ledger, kinds = ledgers[planned["rank"]], list(KINDS[planned["fault"]])
    if planned["fault"] == "disk" and ledger.get("injected_cpu_s", 0.0) > 0.3 * ledger["injected_s"]:
        kinds.append("slow_compute")
    return kinds


def entry(kinds, ranks, part=False, exact=False):
    """exact: an output with another kind is a false positive."""
    return {"kinds": list(kinds), "ranks": sorted(ranks), "part": part, "exact": exact}


def optional_sets(ledgers, is_imbalance_ours):
    """Sets that are correct in addition to the fault: ranks that were preempted, ranks with more work than others."""
    result = []
    preempted = [ledger["rank"] for ledger in ledgers if ledger["run_delay_s"] > PREEMPTED_SHARE * ledger["wall_s"]]
    if preempted:
        result.append(entry(["preempted"], preempted, part=True, exact=True))
    work = sorted(ledger["outside_cpu_s"] for ledger in ledgers)
    median = (work[1] + work[2]) / 2
    more = [ledger["rank"] for ledger in ledgers if ledger["outside_cpu_s"] > IMBALANCE * median]
    if more and not is_imbalance_ours:
        result.append(entry(OWN_IMBALANCE, more, part=True, exact=True))
    return result


def truth_of(planned, ledgers, cores, outside_s):
    """observable and accept, as in ground_truth.json of timelines, with what was measured."""
    share = injected_share(planned, ledgers, cores, outside_s)
    optional = optional_sets(ledgers, planned["fault"] == "imbalance")
    ranks = victims(planned, ledgers, cores)
    required = [entry(kinds_of(planned, ledgers), ranks, part=planned["fault"] in ("competitor", "burner"))] if ranks else []
    if planned["fault"] == "none":
        observable = "healthy"
    else:
        observable = "yes" if share >= NEGLIGIBLE and ranks else "negligible"
    accept = [required + list(more) for more in subsets(optional)]
    if observable == "negligible":
        accept += [list(more) for more in subsets(optional)]
    return {"case": f"{planned['program']} {planned['fault']}", "planned": planned, "observable": observable, "accept": accept,
            "injected_share": round(share, 4), "ledgers": ledgers}


def subsets(items):
    """The empty one first."""
    result = [[]]
    for item in items:
        result += [subset + [item] for subset in result]
    return result
