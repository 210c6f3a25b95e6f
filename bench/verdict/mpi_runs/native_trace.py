"""Writes the native trace of one process as docs/trace_format.md specifies (version 1): MPI calls of one thread, and steps.

Times are integers in ns since the run's start, on one clock of all processes.
"""

import struct

START_TICKS = 10**12
REALTIME_NS = 1_760_000_000 * 10**9
NO_COMM, NO_PEER, ANY_SOURCE = 0xFFFFFFFF, -1, -2
WIDE_COMM, LONG_DURATION = 0xFFFF, 0xFFFFFFFF
HEADER_BYTES, PAGE = 4096, 4096
SHORT_FACT, MEDIUM_FACT, WIDE_FACT = 0xFFE0, 0xFFE1, 0xFFE2
HAS_FACTS = 0x08
HOOK_LEAVE, HOOK_VALUE, STEP_VALUE = 0xFFE8, 0xFFEA, 62
STEP_REGION = 1024
EVENTS, DEFINITIONS, HOOKS = 1, 2, 3
FINALIZED = 1

SEND, RECV, SEND_REQUEST, RECV_REQUEST, SEND_COMPLETE, RECV_COMPLETE = 1, 2, 3, 4, 5, 6
COLLECTIVE, COLLECTIVE_REQUEST, COLLECTIVE_COMPLETE, DURATION, SENDRECV = 10, 11, 12, 17, 18

# name: (id, role, collective operation, group)
REGIONS = {name: (index + 1, *rest) for index, (name, *rest) in enumerate((
    ("MPI_Init", 1, 0, "env"), ("MPI_Finalize", 1, 0, "env"), ("MPI_Send", 2, 0, "p2p"), ("MPI_Recv", 2, 0, "p2p"),
    ("MPI_Isend", 2, 0, "p2p"), ("MPI_Irecv", 2, 0, "p2p"), ("MPI_Sendrecv", 2, 0, "p2p"), ("MPI_Wait", 1, 0, "request"),
    ("MPI_Waitall", 1, 0, "request"), ("MPI_Barrier", 3, 1, "coll"), ("MPI_Bcast", 4, 2, "coll"), ("MPI_Allgather", 6, 7, "coll"),
    ("MPI_Alltoall", 6, 9, "coll"), ("MPI_Allreduce", 6, 12, "coll"), ("MPI_Reduce", 5, 13, "coll"),
    ("MPI_Iallreduce", 6, 12, "coll")))}


def text(value):
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def definition(kind, payload):
    return struct.pack("<II", kind, len(payload)) + payload + bytes(-len(payload) % 8)


def runs_of(ranks):
    """Ranks as (first, stride, count)."""
    runs, at = [], 0
    while at < len(ranks):
        stride = ranks[at + 1] - ranks[at] if at + 1 < len(ranks) else 1
        count = 1
        while at + count < len(ranks) and ranks[at + count] - ranks[at + count - 1] == stride:
            count += 1
        runs.append((ranks[at], stride if count > 1 else 1, count))
        at += count
    return struct.pack("<I", len(runs)) + b"".join(struct.pack("<iii", *run) for run in runs)


def comm_definition(comm, index, rank):
    """comm: has name, global_name and members (world ranks); index: its id in this process."""
    is_world = index == 0
    return definition(3, struct.pack("<IIQBi", index, NO_COMM if is_world else 0, comm.global_name, 0 if is_world else 2,
                                     comm.members.index(rank)) + text(comm.name) + runs_of(comm.members) + runs_of([]))


class Call:
    """A call as words. Each of the facts: (kind, request, peer, tag, bytes, bytes received, sequence, communicator)."""

    @staticmethod
    def entry(time_ns, what):
        return (time_ns << 16 | what) & 0xFFFFFFFFFFFFFFFF

    @classmethod
    def words(cls, region, enter_ns, leave_ns, comm=WIDE_COMM, folded=0, own=b"", facts=b""):
        duration = leave_ns - enter_ns
        if duration >= LONG_DURATION:
            facts = struct.pack("<QQQ", MEDIUM_FACT | DURATION << 16, 0xFFFFFFFF, duration | WIDE_COMM << 48) + facts
            duration = LONG_DURATION
        flags = HAS_FACTS if facts else 0
        return struct.pack("<QQ", cls.entry(enter_ns, REGIONS[region][0]),
                           duration | comm << 32 | folded << 48 | flags << 56) + own + facts


def message(peer, tag, size, request=0):
    return struct.pack("<iiII", peer, tag, size, request)


def exchange(to, source, send_tag, receive_tag, sent, received):
    return struct.pack("<iiiiII", to, source, send_tag, receive_tag, sent, received)


def collective(root, sequence, sent, received):
    return struct.pack("<iIII", root, sequence, sent, received)


def collective_request(request, comm, sequence, sent, received):
    return struct.pack("<QIIiiQQ", WIDE_FACT | COLLECTIVE_REQUEST << 16 | request << 32, comm, sequence, NO_PEER, 0, sent, received)


def completion(kind, request):
    """Completion of a request whose message is as posted."""
    return struct.pack("<Q", SHORT_FACT | kind << 16 | request << 32)


def reception(request, comm, peer, tag, size):
    """Completion of a receive from any source."""
    return struct.pack("<QiiQ", MEDIUM_FACT | RECV_COMPLETE << 16 | request << 32, peer, tag, size | comm << 48)


def chunk(kind, payload, sequence=0):
    used = 128 + len(payload)
    size = -(-used // PAGE) * PAGE
    head = struct.pack("<4sIQQQ32xIIIIQqq24x", b"CHNK", size, used, START_TICKS, 0, kind, 0, sequence, 0, START_TICKS, START_TICKS,
                       REALTIME_NS)
    return head + payload + bytes(size - used)


def file_header(rank, world_size, end_ns, run_id):
    moments = struct.pack("<QQqqQqq", START_TICKS, START_TICKS, START_TICKS, REALTIME_NS, START_TICKS + end_ns, START_TICKS + end_ns,
                          REALTIME_NS + end_ns)
    head = struct.pack("<8sIIiiqIIII", b"MGSCOPE\n", 1, HEADER_BYTES, rank, world_size, 4000 + rank, 1, 0, FINALIZED, 0)
    return (head + moments + bytes(8) + run_id.encode().ljust(64, b"\0")).ljust(HEADER_BYTES, b"\0")


def definitions(rank, host, program, comms, parallel, has_steps):
    parts = [definition(1, text(name) + text(value)) for name, value in (
        ("host", host), ("program", program), ("command_line", program), ("mpi_library", "simulated MPI"), ("clock_domain", "common"),
        ("interface", "c"), *(("parallel", f"{name} {index} {size}") for name, index, size in parallel))]
    for name, (region, role, operation, group) in REGIONS.items():
        parts.append(definition(2, struct.pack("<HBBB", region, role, 1, operation) + text(name) + text(group)))
    if has_steps:
        parts.append(definition(2, struct.pack("<HBBB", STEP_REGION, 12, 0, 0) + text("step") + text("user")))
    parts += [comm_definition(comm, index, rank) for index, comm in enumerate(comms)]
    parts.append(definition(5, struct.pack("<IqB", 0, 4000 + rank, 1) + text("main thread")))
    return b"".join(parts)


def step_words(steps):
    """steps: (number, begin, end) in ns."""
    words = []
    for number, begin_ns, end_ns in steps:
        words += [Call.entry(begin_ns, STEP_REGION), number << 32 | STEP_VALUE << 16 | HOOK_VALUE, Call.entry(end_ns, HOOK_LEAVE)]
    return struct.pack(f"<{len(words)}Q", *words)


def write(path, rank, world_size, described, calls, steps, end_ns, run_id):
    """described: result of definitions(). calls: bytes in order of return. steps: (number, begin, end); empty: not annotated."""
    with open(path, "wb") as file:
        file.write(file_header(rank, world_size, end_ns, run_id))
        file.write(chunk(DEFINITIONS, described))
        file.write(chunk(EVENTS, calls))
        if steps:
            file.write(chunk(HOOKS, step_words(steps)))
