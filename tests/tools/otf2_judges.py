"""What must hold for the events of an OTF2 archive of MPI programs; one class a law. For check_otf2.py."""

import collections

import otf2
from otf2 import events as ev

SENDS = (ev.MpiSend, ev.MpiIsend)
RECEIVES = (ev.MpiRecv, ev.MpiIrecv)
SHOWN_DEFECTS = 10


class Defects:
    """Reasons by law: how many, and the first few in words."""

    def __init__(self):
        self._by_law = collections.defaultdict(lambda: {"count": 0, "first": []})

    def add(self, law, reason):
        entry = self._by_law[law]
        entry["count"] += 1
        if len(entry["first"]) < SHOWN_DEFECTS:
            entry["first"].append(reason)

    def __bool__(self):
        return bool(self._by_law)

    def report(self):
        return dict(self._by_law)


class World:
    """Ranks and communicators. A process is its rank in MPI_COMM_WORLD."""

    def __init__(self, definitions, absent, is_incomplete):
        self.definitions = definitions
        self.absent = absent
        self.is_incomplete = is_incomplete
        self._sides = {}

    @staticmethod
    def rank(location):
        return location.group._ref

    def is_self(self, comm):
        return not isinstance(comm, otf2.definitions.InterComm) and \
            comm.group.group_type == otf2.GroupType.COMM_SELF

    def sides(self, comm):
        """World ranks of a communicator's groups: two for an intercommunicator, else one."""
        if comm not in self._sides:
            groups = [comm.groupA, comm.groupB] if isinstance(comm, otf2.definitions.InterComm) else [comm.group]
            self._sides[comm] = [[self.rank(location) for location in group.members] for group in groups]
        return self._sides[comm]

    def members(self, comm):
        return [rank for side in self.sides(comm) for rank in side]

    def peer(self, comm, rank, peer):
        """World rank of `peer` as `rank` names it; None when there is none such."""
        if self.is_self(comm):
            return rank if peer == 0 else None
        sides = self.sides(comm)
        remote = sides[0] if len(sides) == 1 else sides[1] if rank in sides[0] else sides[0]
        return remote[peer] if peer < len(remote) else None


class Requests:
    """A request is started, then tested, then completed once, by its own kind of completion."""

    STARTS = {ev.MpiIsend: "send", ev.MpiIrecvRequest: "receive", ev.NonBlockingCollectiveRequest: "collective"}
    COMPLETIONS = {ev.MpiIsendComplete: "send", ev.MpiIrecv: "receive",
                   ev.NonBlockingCollectiveComplete: "collective", ev.MpiRequestCancelled: None}

    def __init__(self, world, defects):
        self._world = world
        self._defects = defects
        self._open = {}
        self._dangling = 0

    def see(self, location, event):
        kind = type(event)
        if kind in self.STARTS:
            key = (World.rank(location), event.request_id)
            if key in self._open:
                self._complain(f"{kind.__name__} of rank {key[0]}: request {key[1]} is open already")
            self._open[key] = self.STARTS[kind]
        elif kind in self.COMPLETIONS or kind is ev.MpiRequestTest:
            key = (World.rank(location), event.request_id)
            started = self._open.get(key)
            wanted = self.COMPLETIONS.get(kind)
            if started is None or (wanted is not None and started != wanted):
                self._complain(f"{kind.__name__} of rank {key[0]} at {event.time}: request {key[1]} is of {started}")
            if kind is not ev.MpiRequestTest:
                self._open.pop(key, None)

    def _complain(self, reason):
        self._dangling += 1
        if not self._world.is_incomplete:
            self._defects.add("requests", reason)

    def finish(self):
        pass

    def report(self):
        return {"requests_open_at_end": len(self._open), "requests_without_start": self._dangling}


class Messages:
    """The k-th send of a channel (communicator, sender, receiver, tag) is its k-th receive, in the order in which the
    receives were posted: MPI messages do not overtake. Threads, and receives matched by a probe, have no such order
    in the trace: there, lengths only have to agree as a whole."""

    PROBED = ("MPI_Mrecv", "MPI_Imrecv")

    def __init__(self, world, defects, check_causality):
        self._world = world
        self._defects = defects
        self._check_causality = check_causality
        self._sends = collections.defaultdict(list)
        self._receives = collections.defaultdict(list)
        self._isends = {}
        self._posted = {}
        self._region = {}
        self._unordered = set()
        self._locations = {}
        self._order = 0
        self._counts = collections.Counter()
        self._bytes = 0
        self._min_delay = None

    def see(self, location, event):
        self._order += 1
        rank = World.rank(location)
        kind = type(event)
        if kind is ev.Enter:
            self._region[location] = (event.region.name, self._order)
        elif kind in SENDS:
            self._send(location, rank, event)
        elif kind is ev.MpiIrecvRequest:
            self._posted[rank, event.request_id] = (self._order, self._region[location][0])
        elif kind in RECEIVES:
            self._receive(location, rank, event)
        elif kind is ev.MpiRequestCancelled:
            self._cancel(rank, event)
        elif kind is ev.MpiIsendComplete:
            self._isends.pop((rank, event.request_id), None)

    def _channel(self, event, rank, peer, is_send):
        comm = event.communicator
        if comm is None:
            self._counts["messages_without_communicator"] += 1
            return None
        other = self._world.peer(comm, rank, peer)
        if other is None:
            self._defects.add("messages", f"rank {rank} names rank {peer} of {comm.name!r}, which has no such rank")
            return None
        if other in self._world.absent:
            self._counts["messages_with_ranks_without_trace"] += 1
            return None
        return (comm, rank, other, event.msg_tag) if is_send else (comm, other, rank, event.msg_tag)

    def _note_thread(self, channel, location, is_send):
        """Two threads on one side of a channel: the trace does not tell their order."""
        if self._locations.setdefault((channel, is_send), location) is not location:
            self._unordered.add(channel)

    def _send(self, location, rank, event):
        channel = self._channel(event, rank, event.receiver, True)
        if channel is None:
            return
        self._note_thread(channel, location, True)
        record = [event.time, event.msg_length]
        self._sends[channel].append(record)
        if isinstance(event, ev.MpiIsend):
            self._isends[rank, event.request_id] = (channel, record)

    def _receive(self, location, rank, event):
        channel = self._channel(event, rank, event.sender, False)
        region, posted = self._region[location]
        if isinstance(event, ev.MpiIrecv):
            posted, region = self._posted.pop((rank, event.request_id), (posted, region))
        if channel is None:
            return
        if region in self.PROBED:
            self._unordered.add(channel)
        self._note_thread(channel, location, False)
        self._receives[channel].append((posted, event.time, event.msg_length))

    def _cancel(self, rank, event):
        self._posted.pop((rank, event.request_id), None)
        channel, record = self._isends.pop((rank, event.request_id), (None, None))
        if channel is not None:
            self._sends[channel] = [send for send in self._sends[channel] if send is not record]
            self._counts["cancelled_sends"] += 1

    def finish(self):
        for channel in self._sends.keys() | self._receives.keys():
            self._match(channel, self._sends.get(channel, []), sorted(self._receives.get(channel, [])))

    def _match(self, channel, sends, receives):
        comm, sender, receiver, tag = channel
        name = f"rank {sender} to rank {receiver}, tag {tag} on {comm.name!r}"
        pairs = min(len(sends), len(receives))
        self._counts["messages"] += pairs
        if len(sends) != len(receives):
            self._counts["unmatched_sends"] += len(sends) - pairs
            self._counts["unmatched_receives"] += len(receives) - pairs
            if not self._world.is_incomplete:
                self._defects.add("messages", f"{name}: {len(sends)} sent, {len(receives)} received")
        self._bytes += sum(length for _, length in sends)
        if channel in self._unordered:
            if len(sends) == len(receives) and sorted(s[1] for s in sends) != sorted(r[2] for r in receives):
                self._defects.add("messages", f"{name}: other lengths received than sent")
            return
        for (sent, length), (_, received, received_length) in zip(sends, receives):
            if length != received_length:
                self._defects.add("messages", f"{name}: {length} bytes sent at {sent}, {received_length} received "
                                              f"at {received}")
            delay = received - sent
            self._min_delay = delay if self._min_delay is None else min(delay, self._min_delay)
            if delay < 0:
                self._counts["received_before_sent"] += 1
                if self._check_causality:
                    self._defects.add("causality", f"{name}: received {-delay} ns before it was sent at {sent}")

    def report(self):
        names = ("messages", "unmatched_sends", "unmatched_receives", "cancelled_sends", "received_before_sent",
                 "messages_without_communicator", "messages_with_ranks_without_trace")
        return {**{name: self._counts[name] for name in names}, "message_bytes": self._bytes,
                "smallest_message_delay_ns": self._min_delay}


class Collectives:
    """The k-th collective on a communicator is the k-th of every member, with one operation and one root; no rank
    leaves a barrier before the last one has entered it. Blocking and nonblocking ones count together."""

    # Collective over some members only, by the standard.
    OF_A_PART = ("MPI_Comm_create_group", "MPI_Intercomm_create", "MPI_Comm_join")

    def __init__(self, world, defects, check_causality):
        self._world = world
        self._defects = defects
        self._check_causality = check_causality
        self._begin = collections.defaultdict(list)
        self._requests = {}
        self._region = {}
        self._order = 0
        self._done = collections.defaultdict(lambda: collections.defaultdict(list))
        self._count = 0
        self._open_comms = {}
        self._created = 0

    def see(self, location, event):
        self._order += 1
        kind = type(event)
        rank = World.rank(location)
        if kind is ev.Enter:
            self._region[location] = event.region.name
        elif kind is ev.MpiCollectiveBegin:
            self._begin[location].append((self._order, event.time, self._region[location]))
        elif kind is ev.MpiCollectiveEnd:
            if not self._begin[location]:
                self._defects.add("collectives", f"MpiCollectiveEnd at {event.time} on rank {rank} without a begin")
                return
            self._complete(rank, event, *self._begin[location].pop())
        elif kind is ev.NonBlockingCollectiveRequest:
            self._requests[rank, event.request_id] = (self._order, event.time, self._region[location])
        elif kind is ev.NonBlockingCollectiveComplete:
            started = self._requests.pop((rank, event.request_id), None)
            if started is not None:
                self._complete(rank, event, *started)
        elif kind in (ev.CommCreate, ev.CommDestroy):
            self._handle(location, event)

    def _complete(self, rank, event, order, entered, region):
        comm = event.communicator
        if comm is None or region in self.OF_A_PART or self._world.is_self(comm):
            return
        self._done[comm][rank].append((order, event.collective_op, event.root, entered, event.time))

    def _handle(self, location, event):
        comm = event.communicator
        self._created += isinstance(event, ev.CommCreate)
        if not comm.flags & otf2.CommFlag.CREATE_DESTROY_EVENTS:
            self._defects.add("communicators", f"{comm.name!r} has events, but says it has none")
        is_enclosed = bool(self._begin[location]) or any(rank == World.rank(location) for rank, _ in self._requests)
        if not is_enclosed:
            self._defects.add("communicators", f"{type(event).__name__} of {comm.name!r} outside of a collective")

    def finish(self):
        for location, begun in self._begin.items():
            if begun:
                self._defects.add("collectives", f"{location.group.name}: a collective begins and never ends")
        for comm, by_rank in self._done.items():
            for calls in by_rank.values():
                calls.sort()
            present = [rank for rank in self._world.members(comm) if rank not in self._world.absent]
            outsiders = set(by_rank) - set(self._world.members(comm))
            if outsiders:
                self._defects.add("collectives", f"{comm.name!r}: ranks {sorted(outsiders)} take part, no members")
            self._compare(comm, [(rank, by_rank.get(rank, [])) for rank in present])

    def _compare(self, comm, calls):
        lengths = {len(done) for _, done in calls}
        self._count += min(lengths)
        if len(lengths) > 1 and not self._world.is_incomplete:
            each = ", ".join(f"rank {rank}: {len(done)}" for rank, done in calls[:8])
            self._defects.add("collectives", f"{comm.name!r}: not every member took part in all ({each})")
        is_inter = len(self._world.sides(comm)) == 2
        for index in range(min(lengths)):
            instance = [done[index] for _, done in calls]
            operations = {str(call[1]) for call in instance}
            if len(operations) > 1:
                self._defects.add("collectives", f"{comm.name!r}, number {index}: {sorted(operations)} at once")
                break
            if not is_inter and len({call[2] for call in instance}) > 1:
                self._defects.add("collectives", f"{comm.name!r}, number {index}: members disagree about the root")
            is_barrier = instance[0][1] == otf2.CollectiveOp.BARRIER
            if is_barrier and self._check_causality and max(c[3] for c in instance) > min(c[4] for c in instance):
                self._defects.add("causality", f"{comm.name!r}, number {index}: a barrier is left before it is full")

    def report(self):
        return {"collectives": self._count, "communicators_created": self._created}
