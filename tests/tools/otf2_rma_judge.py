"""What must hold for the one-sided events of an OTF2 archive. For check_otf2.py."""

import collections

import otf2
from otf2 import events as ev

from otf2_judges import World

OPERATIONS = (ev.RmaPut, ev.RmaGet, ev.RmaAtomic)
LOCAL = (ev.RmaOpCompleteBlocking, ev.RmaOpCompleteNonBlocking)
ON_A_WINDOW = OPERATIONS + LOCAL + (ev.RmaOpCompleteRemote, ev.RmaOpTest, ev.RmaCollectiveEnd, ev.RmaGroupSync,
                                    ev.RmaRequestLock, ev.RmaReleaseLock, ev.RmaSync)
ALL_TARGETS = 0xFFFFFFFF


class OneSided:
    """An operation names a rank of its window, completes once at the origin and at most once at the target, in this order;
    windows live from their creation to their destruction, with the same collectives in all members, and no rank leaves a
    fence that synchronises before the last one has entered it; locks are requested before they are released, and not
    held when the window ends; groups are of members."""

    def __init__(self, world, defects, check_causality):
        self._world = world
        self._defects = defects
        self._check_causality = check_causality
        self._open = {}
        self._is_local = set()
        self._begin = collections.defaultdict(list)
        self._done = collections.defaultdict(lambda: collections.defaultdict(list))
        self._locks = collections.Counter()
        self._life = {}
        self._counts = collections.Counter()

    def see(self, location, event):
        kind = type(event)
        rank = World.rank(location)
        if kind is ev.RmaCollectiveBegin:
            self._begin[location].append(event.time)
            return
        if kind in (ev.RmaWinCreate, ev.RmaWinDestroy):
            self._handle(location, rank, event)
            return
        if kind not in ON_A_WINDOW:
            return
        if self._life.get((rank, event.win)) == "ended" and kind is not ev.RmaCollectiveEnd:
            self._complain(f"{kind.__name__} of rank {rank} at {event.time} on {event.win.name!r}, which has ended")
        if kind in OPERATIONS:
            self._issue(rank, event)
        elif kind in LOCAL or kind is ev.RmaOpCompleteRemote or kind is ev.RmaOpTest:
            self._complete(rank, event)
        elif kind is ev.RmaCollectiveEnd:
            self._end_collective(location, rank, event)
        elif kind is ev.RmaGroupSync:
            self._check_group(event)
        elif kind is ev.RmaRequestLock:
            self._locks[rank, event.win, event.remote] += 1
            self._counts["locks"] += 1
        elif kind is ev.RmaReleaseLock:
            self._release(rank, event)

    def _complain(self, reason):
        self._defects.add("one-sided", reason)

    def _complain_of_loss(self, reason):
        if not self._world.is_incomplete:
            self._complain(reason)

    def _issue(self, rank, event):
        if self._world.peer(event.win.comm, rank, event.remote) is None:
            self._complain(f"rank {rank} names rank {event.remote} of {event.win.name!r}, which has no such rank")
        key = (rank, event.matching_id)
        if key in self._open:
            self._complain(f"operation {key[1]} of rank {rank} at {event.time} is open already")
        self._open[key] = event.win
        self._is_local.discard(key)
        is_atomic = isinstance(event, ev.RmaAtomic)
        name = "atomics" if is_atomic else "puts" if isinstance(event, ev.RmaPut) else "gets"
        self._counts[name] += 1
        if is_atomic:
            self._counts["bytes_to_targets"] += event.bytes_sent
            self._counts["bytes_from_targets"] += event.bytes_received
        else:
            self._counts["bytes_to_targets" if name == "puts" else "bytes_from_targets"] += event.bytes

    def _complete(self, rank, event):
        key = (rank, event.matching_id)
        window = self._open.get(key)
        name = f"{type(event).__name__} of operation {key[1]} of rank {rank} at {event.time}"
        if window is None:
            self._complain_of_loss(f"{name}: there is no such operation")
        elif window is not event.win:
            self._complain(f"{name}: the operation is on {window.name!r}, not on {event.win.name!r}")
        elif isinstance(event, LOCAL):
            if key in self._is_local:
                self._complain(f"{name}: for the second time")
            self._is_local.add(key)
            self._counts["operations_completed"] += 1
        elif isinstance(event, ev.RmaOpCompleteRemote):
            if key not in self._is_local:
                self._complain(f"{name}: before it is complete at the origin")
            self._counts["operations_completed_at_target"] += 1
            del self._open[key]

    def _handle(self, location, rank, event):
        if not event.win.flags & otf2.RmaWinFlag.CREATE_DESTROY_EVENTS:
            self._complain(f"{event.win.name!r} has events, but says it has none")
        if not self._begin[location]:
            self._complain(f"{type(event).__name__} of {event.win.name!r} outside of a collective")
        is_created = isinstance(event, ev.RmaWinCreate)
        before = self._life.get((rank, event.win))
        if before == "ended" or (is_created and before is not None):
            self._complain(f"{type(event).__name__} of {event.win.name!r} on rank {rank}, but it is {before}")
        self._life[rank, event.win] = "made" if is_created else "ended"
        self._counts["windows_created"] += is_created
        held = [lock for lock, count in self._locks.items() if lock[:2] == (rank, event.win) and count]
        if held:
            self._complain(f"rank {rank} ends {event.win.name!r} with {len(held)} locks")

    def _end_collective(self, location, rank, event):
        if not self._begin[location]:
            self._complain(f"RmaCollectiveEnd at {event.time} on rank {rank} without a begin")
            return
        entered = self._begin[location].pop()
        synchronises = bool(event.sync_level & otf2.RmaSyncLevel.PROCESS)
        is_fence = event.collective_op == otf2.CollectiveOp.BARRIER
        self._counts["fences"] += is_fence
        self._done[event.win][rank].append((str(event.collective_op), is_fence and synchronises, entered, event.time))

    def _check_group(self, event):
        members = {World.rank(location) for location in event.group.members}
        if not members <= set(self._world.members(event.win.comm)) and not self._world.is_self(event.win.comm):
            self._complain(f"RmaGroupSync at {event.time}: ranks {sorted(members)} are not all of {event.win.name!r}")
        self._counts["group_synchronisations"] += 1

    def _release(self, rank, event):
        key = (rank, event.win, event.remote)
        if self._locks[key] == 0:
            which = "all" if event.remote == ALL_TARGETS else event.remote
            self._complain_of_loss(f"rank {rank} releases a lock of {which} on {event.win.name!r} at {event.time} "
                                   "that it has not")
        self._locks[key] = max(self._locks[key] - 1, 0)

    def finish(self):
        for location, begun in self._begin.items():
            if begun:
                self._complain(f"{location.group.name}: a one-sided collective begins and never ends")
        for (rank, number), window in self._open.items():
            if (rank, number) not in self._is_local:
                self._complain_of_loss(f"operation {number} of rank {rank} on {window.name!r} is never complete")
        for window, by_rank in self._done.items():
            members = self._world.members(window.comm) if not self._world.is_self(window.comm) else list(by_rank)
            present = [rank for rank in members if rank not in self._world.absent]
            self._compare(window, [by_rank.get(rank, []) for rank in present])

    def _compare(self, window, calls):
        if len({len(done) for done in calls}) > 1:
            self._complain_of_loss(f"{window.name!r}: not every member took part in all collectives")
        for index, instance in enumerate(zip(*calls)):
            if len({call[0] for call in instance}) > 1:
                self._complain(f"{window.name!r}, number {index}: {sorted({call[0] for call in instance})} at once")
                break
            is_full = max(call[2] for call in instance) <= min(call[3] for call in instance)
            if all(call[1] for call in instance) and self._check_causality and not is_full:
                self._defects.add("causality", f"{window.name!r}, number {index}: a fence is left before it is full")

    def report(self):
        names = ("windows_created", "puts", "gets", "atomics", "bytes_to_targets", "bytes_from_targets",
                 "operations_completed", "operations_completed_at_target", "fences", "group_synchronisations", "locks")
        return {"one_sided": {name: self._counts[name] for name in names}}
