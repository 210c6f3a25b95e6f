"""What must hold for the I/O events of an OTF2 archive of MPI programs. For check_otf2.py."""

import collections

import otf2
from otf2 import events as ev

UNDEFINED = 2 ** 64 - 1
OPERATIONS = (ev.IoOperationBegin, ev.IoOperationTest, ev.IoOperationIssued, ev.IoOperationComplete,
              ev.IoOperationCancelled)


class Files:
    """A process uses a handle between its creation and its end; all members of its communicator create it. An operation
    begins, is issued if it is nonblocking, may be tested, and completes once, with no more bytes than were asked for. The
    k-th collective operation on a handle is the k-th of every member, and of one mode."""

    def __init__(self, world, defects):
        self._world = world
        self._defects = defects
        self._open = set()
        self._created = collections.defaultdict(collections.Counter)
        self._running = {}
        self._collective = collections.defaultdict(lambda: collections.defaultdict(list))
        self._counts = collections.Counter()

    def see(self, location, event):
        rank = self._world.rank(location)
        kind = type(event)
        if kind is ev.IoDeleteFile:
            self._counts["files_deleted"] += 1
            if not isinstance(event.file, otf2.definitions.IoRegularFile):
                self._complain(f"rank {rank} deletes {event.file}, no regular file")
        elif kind is ev.IoCreateHandle:
            self._create(rank, event)
        elif kind is ev.IoDestroyHandle:
            self._expect_open(rank, event)
            self._open.discard((rank, event.handle))
        elif kind in OPERATIONS:
            self._expect_open(rank, event)
            self._operate(rank, location, event)
        elif kind in (ev.IoSeek, ev.IoChangeStatusFlags):
            self._expect_open(rank, event)
            self._counts["seeks"] += kind is ev.IoSeek

    def _complain(self, reason, is_loss=False):
        if not (is_loss and self._world.is_incomplete):
            self._defects.add("files", reason)

    def _name(self, handle):
        return f"handle {handle._ref} of {handle.file.name if handle.file is not None else None!r}"

    def _create(self, rank, event):
        self._counts["files_opened"] += 1
        if (rank, event.handle) in self._open:
            self._complain(f"rank {rank} creates {self._name(event.handle)}, which it has already")
        self._open.add((rank, event.handle))
        self._created[event.handle][rank] += 1

    def _expect_open(self, rank, event):
        is_pre_created = bool(event.handle.io_handle_flags & otf2.IoHandleFlag.PRE_CREATED)
        if not is_pre_created and (rank, event.handle) not in self._open:
            self._complain(f"{type(event).__name__} of rank {rank} at {event.time} on {self._name(event.handle)}, which it "
                           f"does not have", is_loss=True)

    def _operate(self, rank, location, event):
        key = (rank, event.handle, event.matching_id)
        kind = type(event)
        if kind is ev.IoOperationBegin:
            if key in self._running:
                self._complain(f"rank {rank}: operation {event.matching_id} of {self._name(event.handle)} begins twice")
            self._running[key] = [event, location, False]
            self._note_collective(rank, event)
            return
        if key not in self._running:
            self._complain(f"{kind.__name__} of rank {rank} at {event.time}: operation {event.matching_id} of "
                           f"{self._name(event.handle)} has not begun", is_loss=True)
            return
        begin, begun_at, is_issued = self._running[key]
        is_nonblocking = bool(begin.operation_flags & otf2.IoOperationFlag.NON_BLOCKING)
        if kind is ev.IoOperationIssued:
            self._running[key][2] = True
        if is_nonblocking != (is_issued or kind is ev.IoOperationIssued) or (not is_nonblocking and begun_at is not location):
            self._complain(f"{kind.__name__} of rank {rank} at {event.time} does not fit the beginning at {begin.time}")
        if kind in (ev.IoOperationComplete, ev.IoOperationCancelled):
            del self._running[key]
        if kind is ev.IoOperationComplete:
            self._complete(rank, begin, event)

    def _complete(self, rank, begin, event):
        mode = begin.mode
        if mode == otf2.IoOperationMode.FLUSH:
            self._counts["flushes"] += 1
            return
        is_read = mode == otf2.IoOperationMode.READ
        self._counts["reads" if is_read else "writes"] += 1
        self._counts["bytes_read" if is_read else "bytes_written"] += event.bytes_result
        if event.bytes_result > begin.bytes_request or event.bytes_result == UNDEFINED:
            self._complain(f"rank {rank} at {event.time}: {event.bytes_result} bytes of {begin.bytes_request}")

    def _note_collective(self, rank, event):
        if not event.operation_flags & otf2.IoOperationFlag.COLLECTIVE:
            return
        if event.handle.comm is None:
            self._complain(f"a collective operation on {self._name(event.handle)}, which has no communicator")
        self._collective[event.handle][rank].append(str(event.mode))

    def _members(self, handle):
        if handle.comm is None or self._world.is_self(handle.comm):
            return []
        return [rank for rank in self._world.members(handle.comm) if rank not in self._world.absent]

    def finish(self):
        for handle, by_rank in self._created.items():
            missing = [rank for rank in self._members(handle) if by_rank[rank] != 1]
            if missing:
                self._complain(f"{self._name(handle)}: not created once by ranks {missing}", is_loss=True)
        for handle, by_rank in self._collective.items():
            calls = {tuple(by_rank.get(rank, [])) for rank in self._members(handle)}
            if len(calls) > 1:
                self._complain(f"{self._name(handle)}: members do not do the same together", is_loss=True)

    def report(self):
        names = ("files_opened", "files_deleted", "reads", "writes", "bytes_read", "bytes_written", "flushes", "seeks")
        return {"io": {**{name: self._counts[name] for name in names}, "handles_open_at_end": len(self._open),
                       "operations_running_at_end": len(self._running)}}
