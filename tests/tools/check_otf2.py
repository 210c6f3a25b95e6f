#!/usr/bin/python3
"""Judges an OTF2 archive by readers that are not ours: OTF2's Python reader and otf2-print.

  check_otf2.py TRACE.otf2 [--incomplete] [--no-print] [--no-causality]

Checked: definitions are readable, each once; one communication location a rank, in rank order; regions of MPI have its
paradigm; Enter and Leave balance; times do not decrease and lie within the clock properties; locations have the events
they declare; every send has its receive on communicator and tag, in order and with the same length, and is not received
before it was sent; every collective is complete among the members, with one operation and root; requests are
started before they complete; what otf2_rma_judge.py says of one-sided communication and otf2_file_judge.py of files;
otf2-print is silent and counts the same events.

Prints counts as JSON on stdout. Exit code: 0 sound, 1 a defect (the reasons follow as "defects"), 2 unreadable.
Runs on the Python that has the module otf2 (Debian: python3-otf2, /usr/bin/python3).
"""

import argparse
import collections
import json
import re
import shutil
import subprocess
import sys

import otf2

import otf2_judges as judges
from otf2_call_judge import Places, Stacks
from otf2_file_judge import Files
from otf2_rma_judge import OneSided

NO_TRACE = "(no trace)"


def mend_intercomm():
    """python3-otf2 3.0.2 gives InterComm the fields of Comm as well, and so takes a group for a communicator."""
    inter_comm = otf2.definitions.InterComm
    by_name = {field.name: field for field in inter_comm._fields}
    comm = {field.name: field for field in otf2.definitions.Comm._fields}
    inter_comm._fields = [by_name["name"], by_name["groupA"], by_name["groupB"], comm["parent"], comm["flags"]]


mend_intercomm()


def check_definitions(definitions, defects):
    """Ranks of MPI_COMM_WORLD as positions in the group of communication locations."""
    mpi_groups = [group for group in definitions.groups
                  if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI]
    if len(mpi_groups) != 1:
        defects.add("definitions", f"{len(mpi_groups)} groups of MPI's communication locations, not one")
        return []
    members = list(mpi_groups[0].members)
    for rank, location in enumerate(members):
        if location.group._ref != rank:
            defects.add("definitions", f"communication location {rank} is of process {location.group.name!r}")
    processes = {location.group._ref for location in definitions.locations}
    if processes != set(range(len(members))):
        defects.add("definitions", f"processes {sorted(processes)}, but {len(members)} communication locations")
    for region in definitions.regions:
        if region.name.startswith("MPI_") and region.paradigm != otf2.Paradigm.MPI:
            defects.add("definitions", f"region {region.name} has the paradigm {region.paradigm}")
    return members


def read_events(trace, judge_list, defects):
    clock = trace.definitions.clock_properties
    first, last = clock.global_offset, clock.global_offset + clock.trace_length
    counts = collections.Counter()
    by_location = collections.Counter()
    previous = {}
    for location, event in trace.events:
        name = type(event).__name__
        counts[name] += 1
        by_location[location] += 1
        if event.time < previous.get(location, 0):
            defects.add("time", f"{location.name} of {location.group.name}: {name} at {event.time} goes back in time")
        previous[location] = event.time
        if not first <= event.time <= last:
            defects.add("time", f"{name} at {event.time} is outside of the trace, {first} to {last}")
        for judge in judge_list:
            judge.see(location, event)
    for location in trace.definitions.locations:
        if location.number_of_events != by_location[location]:
            defects.add("event count", f"{location.group.name}, {location.name}: {location.number_of_events} events "
                                       f"declared, {by_location[location]} read")
    return counts


def run_otf2_print(anchor, event_count, defects):
    """otf2-print's own count of events; its complaints are defects."""
    tool = shutil.which("otf2-print")
    if tool is None:
        defects.add("otf2-print", "is not installed (Debian: otf2-tools), or use --no-print")
        return None
    printed = 0
    with subprocess.Popen([tool, "-A", anchor], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as process:
        in_events = False
        for line in process.stdout:
            if line.startswith("=== "):
                in_events = line.startswith("=== Events ")
            elif in_events and re.match(r"[A-Z_]+ +\d+ +\d+ ", line):
                printed += 1
            elif re.match(r"==\w+==|\[OTF2\]", line) or "otf2-print: " in line:  # it may stand in the middle of a line
                defects.add("otf2-print", line.strip())
    if process.returncode != 0:
        defects.add("otf2-print", f"ends with exit code {process.returncode}")
    if printed != event_count:
        defects.add("otf2-print", f"shows {printed} events, the Python reader {event_count}")
    return printed


def check(arguments):
    defects = judges.Defects()
    with otf2.reader.open(arguments.anchor, batch_events=4096) as trace:
        definitions = trace.definitions
        members = check_definitions(definitions, defects)
        absent = {location.group._ref for location in definitions.locations if NO_TRACE in location.group.name}
        world = judges.World(definitions, absent, arguments.incomplete)
        stacks = Stacks(world, defects)
        requests = judges.Requests(world, defects)
        messages = judges.Messages(world, defects, check_causality=not arguments.no_causality)
        collectives = judges.Collectives(world, defects, check_causality=not arguments.no_causality)
        one_sided = OneSided(world, defects, check_causality=not arguments.no_causality)
        places = Places(defects)
        judge_list = [stacks, places, requests, messages, collectives, one_sided, Files(world, defects)]
        counts = read_events(trace, judge_list, defects)
        for judge in judge_list:
            judge.finish()
        total = sum(counts.values())
        report = {
            "ok": True,
            "ranks": len(members),
            "ranks_without_trace": len(absent),
            "locations": len(definitions.locations),
            "regions": len(definitions.regions),
            "communicators": sorted(comm.name for comm in definitions.comms),
            "event_count": total,
            "events": dict(sorted(counts.items())),
            "length_ns": definitions.clock_properties.trace_length,
        }
        for judge in judge_list:
            report.update(judge.report())
    if not arguments.no_print:
        report["otf2_print_events"] = run_otf2_print(arguments.anchor, total, defects)
    report["ok"] = not defects
    report["defects"] = defects.report()
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("anchor", help="the archive's anchor file, trace.otf2")
    parser.add_argument("--incomplete", action="store_true",
                        help="the job was killed or records were lost: what has no partner is counted, no defect")
    parser.add_argument("--no-print", action="store_true", help="leave out otf2-print")
    parser.add_argument("--no-causality", action="store_true", help="clocks were not aligned")
    arguments = parser.parse_args()
    try:
        report = check(arguments)
    except (otf2.error.TraceReaderError, _otf2_error(), OSError, AssertionError, KeyError) as problem:
        print(json.dumps({"ok": False, "defects": {"reader": {"count": 1, "first": [repr(problem)]}}}, indent=1))
        return 2
    print(json.dumps(report, indent=1))
    return 0 if report["ok"] else 1


def _otf2_error():
    import _otf2
    return _otf2.Error


if __name__ == "__main__":
    sys.exit(main())
