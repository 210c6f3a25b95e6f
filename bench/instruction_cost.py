#!/usr/bin/env python3
"""Instructions that recording adds to an MPI call, counted by callgrind: exact on a machine whose times are not. Through C,
`mpif.h` and `mpi_f08`, without the MPI library's own and without what is done once a buffer (copying, profile) or every 30 ms (readings of
the CPU time).

  bench/instruction_cost.py BUILD_DIRECTORY [--calls 20000]
"""

import argparse
import collections
import pathlib
import re
import tempfile

import support

PROGRAMS = {"C": "mpi_call_cost", "mpif.h": "mpi_call_cost_mpif", "mpi_f08": "mpi_call_cost_f08"}
FUNCTIONS = ("Comm_rank", "Iprobe", "Testany", "Sendrecv", "Isend", "Irecv", "Waitall", "Allreduce",
             "Put", "Rput", "Wait", "Win_flush", "File_write", "File_write_at", "File_seek")
NOW_AND_THEN = ("write_rare", "write_fruitless_slow_path", "begin(", "enter_slow_path")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--calls", type=int, default=20000)
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    added = {interface: count(build, program, arguments.calls) for interface, program in PROGRAMS.items()}
    print("| function | " + " | ".join(PROGRAMS) + " |")
    print("|---|" + "---|" * len(PROGRAMS))
    for function in FUNCTIONS:
        cells = [cell(added[interface].get(wrapper_name(function, interface))) for interface in PROGRAMS]
        print(f"| MPI_{function} | " + " | ".join(cells) + " |")


def cell(value):
    return "." if value is None else f"{value:.0f}"


def wrapper_name(function, interface):
    """Of the spellings at one address callgrind tells this one."""
    if interface == "C":
        return f"MPI_{function}"
    return f"MPI_{function.upper()}" if interface == "mpif.h" else f"mpi_{function.lower()}_f08_"


def count(build, program, calls):
    """Wrapper -> instructions a call."""
    environment = support.configurations(build, with_eztrace=False)["megascope"]
    with tempfile.TemporaryDirectory(prefix="megascope-bench-") as directory:
        out = pathlib.Path(directory) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", build.program(program), str(calls)]
        with support.Run(environment, command) as run:
            if not out.exists():
                raise SystemExit(f"callgrind left nothing: {run.result.stderr}")
        return added_instructions(CallGraph(out.read_text()), build.library.resolve().name)


class CallGraph:
    """What callgrind wrote: each function's own instructions, and calls and inclusive instructions of each edge."""

    def __init__(self, text):
        self.own = collections.Counter()
        self.edges = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        self.names = {"ob": {}, "fn": {}}
        function, place, callee, callee_place, calls = None, None, None, None, None
        for line in text.splitlines():
            kind, _, value = line.partition("=")
            if kind in ("ob", "cob"):
                name = self.name("ob", value)
                place, callee_place = (name, name) if kind == "ob" else (place, name)
            elif kind == "fn":
                function, callee_place = (place, self.name("fn", value)), place
            elif kind == "cfn":
                callee = (callee_place, self.name("fn", value))
            elif kind == "calls":
                calls = int(value.split()[0])
            elif re.match(r"[0-9+*-]", line) and function:
                instructions = int(line.split()[1])
                if calls is None:
                    self.own[function] += instructions
                    continue
                edge = self.edges[function][callee]
                edge[0], edge[1] = edge[0] + calls, edge[1] + instructions
                calls, callee_place = None, place

    def name(self, space, value):
        number, _, name = value.partition(" ")
        if name:
            self.names[space][number] = name
        return self.names[space].get(number, number)


def added_instructions(graph, library):
    def is_ours(node):
        return node[0] is not None and pathlib.Path(node[0]).name == library

    callers = collections.defaultdict(int)
    for edges in graph.edges.values():
        for callee, (calls, _) in edges.items():
            callers[callee] += calls
    added = {}
    for node in list(graph.own):
        name = node[1]
        if is_ours(node) and re.fullmatch(r"MPI_\w+|mpi_\w+_f08_", name):
            added[name] = ours_below(graph, node, is_ours) / max(callers[node], 1)
    return added


def ours_below(graph, node, is_ours):
    """Its own, those of the body that it jumps to, and of what these call of ours."""
    total = graph.own[node]
    for callee, (_, instructions) in graph.edges[node].items():
        if not is_ours(callee) or any(word in callee[1] for word in NOW_AND_THEN):
            continue
        total += ours_below(graph, callee, is_ours) if re.search("::(record|poll)[(<]", callee[1]) else instructions
    return total


if __name__ == "__main__":
    main()
