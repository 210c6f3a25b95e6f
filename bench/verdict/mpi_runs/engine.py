"""Discrete-event simulation of MPI programs. A program is a generator for each rank. It calls methods of its Rank and yields its waits.

Times are float ns. Ranks run in the order of their times, each until it computes or waits, so that messages are matched in causal order.
"""

import collections
import dataclasses
import heapq
import math
import random

import native_trace as trace

CALL_NS = 450.0                    # duration of a call that does not wait
STEP_CALL_NS = 100.0               # duration of annotating a step's begin or end
ANY = trace.ANY_SOURCE


class Comm:
    """A communicator. members: world ranks. Its collectives are numbered; nonblocking ones run one after the other."""

    def __init__(self, name, members, global_name, seed):
        self.name, self.members, self.global_name = name, list(members), global_name
        self.rank_of = {rank: index for index, rank in enumerate(self.members)}
        self.random = random.Random(f"{seed}:comm:{name}")
        self.open, self.busy_ns = {}, 0.0


class Request:
    __slots__ = ("done", "owner", "kind", "number", "peer", "tag", "size", "peer_found", "size_found")

    def __init__(self, owner, kind, number, peer=-1, tag=0, size=0):
        self.done, self.owner, self.kind, self.number = None, owner, kind, number
        self.peer, self.tag, self.size, self.peer_found, self.size_found = peer, tag, size, peer, size

    def fact(self):
        if (self.peer_found, self.size_found) != (self.peer, self.size):
            return trace.reception(self.number, 0, self.peer_found, self.tag, self.size_found)
        return trace.completion(self.kind, self.number)

    def complete(self, time):
        self.done = time
        self.owner.completed(self)


@dataclasses.dataclass
class Instance:
    """One execution of a collective, while not all members have entered it. there: (entered, request) by rank in the communicator."""
    cost: float
    there: dict


class Wait:
    """A call that ends when its requests are complete."""

    def __init__(self, enter, requests, record):
        self.enter, self.requests, self.record = enter, requests, record


class Network:
    """A model like LogGP: latency, bandwidth, one adapter for each host, which sends one message at a time; log-normal noise of messages."""

    def __init__(self, seed, ranks_per_host, world, sigma, eager_bytes=16384):
        draw = random.Random(f"{seed}:network")
        self.ranks_per_host, self.sigma, self.eager_bytes = ranks_per_host, sigma, eager_bytes
        self.latency_ns = {True: draw.uniform(350, 700), False: draw.uniform(1400, 2600)}
        self.ns_per_byte = {True: 1 / draw.uniform(6, 12), False: 1 / draw.uniform(4, 11)}
        self.free_ns = [0.0] * (world // ranks_per_host + 1)
        self.random = [random.Random(f"{seed}:network:{rank}") for rank in range(world)]

    def host(self, rank):
        return rank // self.ranks_per_host

    def noise(self, rank):
        return self.random[rank].lognormvariate(0, self.sigma)

    def transfer(self, source, target, size, ready, noise, factor):
        """Returns (time when the send buffer is free, time when the message has arrived)."""
        near = self.host(source) == self.host(target)
        wire = size * self.ns_per_byte[near]
        begin = ready
        if not near:
            adapter = self.host(source)
            begin = max(ready, self.free_ns[adapter])
            self.free_ns[adapter] = begin + wire
        sent = begin + wire * noise * factor
        return sent, sent + self.latency_ns[near] * noise * factor

    def collective_ns(self, comm, kind, size):
        """Duration of a collective after all members have entered it."""
        count = len(comm.members)
        near = len({self.host(rank) for rank in comm.members}) == 1
        rounds, wire = max(1, math.ceil(math.log2(max(2, count)))), size * self.ns_per_byte[near]
        share = (count - 1) / count
        cost = {"MPI_Barrier": 0.0, "MPI_Bcast": wire, "MPI_Reduce": wire, "MPI_Allreduce": 2 * share * wire,
                "MPI_Iallreduce": 2 * share * wire, "MPI_Allgather": share * count * wire, "MPI_Alltoall": share * count * wire}[kind]
        return (rounds * 2 * self.latency_ns[near] + cost) * comm.random.lognormvariate(0, self.sigma)


class Rank:
    """One process, with the functions that its program calls, and its records."""

    def __init__(self, world, rank):
        self.world, self.rank, self.now, self.step = world, rank, 0.0, 0
        self.calls, self.steps, self.numbers, self.sequence = [], [], 0, collections.Counter()
        self.waiting, self.missing, self.is_done, self.work_ns, self.pieces = None, 0, False, 0.0, 0
        self.comms = [world.comm_world] + [comm for comm in world.comms if rank in comm.rank_of]
        self.comm_ids = {comm.name: index for index, comm in enumerate(self.comms)}
        self.skew_ns = world.job.skew_of(rank)

    # Functions for programs.

    def work(self, usual_ns):
        """Computes. The program must yield the result."""
        time = self.world.work_ns(self, usual_ns)
        self.now += time
        self.work_ns += time
        self.pieces += 1

    def begin_step(self, step):
        self.step = step
        self.steps.append([step, self.stamp(self.now), 0])
        self.now += STEP_CALL_NS

    def end_step(self):
        self.now += STEP_CALL_NS
        self.steps[-1][2] = self.stamp(self.now)
        self.now += STEP_CALL_NS

    def stamp(self, time):
        """Converts a time to the rank's corrected clock."""
        return max(0, round(time + self.skew_ns))

    def isend(self, peer, tag, size):
        request = self.posted(trace.SEND_REQUEST, trace.SEND_COMPLETE, "MPI_Isend", peer, tag, size)
        self.world.send(self, request, self.now)
        return request

    def irecv(self, peer, tag, size):
        request = self.posted(trace.RECV_REQUEST, trace.RECV_COMPLETE, "MPI_Irecv", peer, tag, size)
        self.world.receive(self, request, self.now)
        return request

    def waitall(self, requests, name="MPI_Waitall"):
        requests = list(requests)

        enter = self.now
        return Wait(enter, requests, lambda leave: self.add(name, enter, leave, facts=b"".join(one.fact() for one in requests)))

    def wait(self, request):
        return self.waitall([request], "MPI_Wait")

    def send(self, peer, tag, size):
        request = Request(self, trace.SEND_COMPLETE, 0, peer, tag, size)
        enter = self.now
        self.world.send(self, request, enter + 100)
        return Wait(enter, [request], lambda leave: self.add("MPI_Send", enter, leave, 0, trace.SEND, trace.message(peer, tag, size)))

    def recv(self, peer, tag, size):
        request = Request(self, trace.RECV_COMPLETE, 0, peer, tag, size)
        enter = self.now
        self.world.receive(self, request, enter + 100)
        return Wait(enter, [request], lambda leave: self.add("MPI_Recv", enter, leave, 0, trace.RECV,
                                                             trace.message(request.peer_found, tag, request.size_found)))

    def collective(self, name, comm=None, size=8, root=trace.NO_PEER):
        comm = comm or self.world.comm_world
        request, enter, sequence = Request(self, 0, 0), self.now, self.next_of(comm)
        self.world.enter_collective(self, comm, name, size, root, sequence, request)
        own = trace.collective(root, sequence, size, size)
        return Wait(enter, [request], lambda leave: self.add(name, enter, leave, self.comm_ids[comm.name], trace.COLLECTIVE, own))

    def iallreduce(self, comm, size):
        self.numbers += 1
        request, sequence, enter = Request(self, trace.COLLECTIVE_COMPLETE, self.numbers), self.next_of(comm), self.now
        self.now += CALL_NS
        index = self.comm_ids[comm.name]
        self.add("MPI_Iallreduce", enter, self.now, index, facts=trace.collective_request(request.number, index, sequence, size, size))
        self.world.enter_collective(self, comm, "MPI_Iallreduce", size, trace.NO_PEER, sequence, request)
        return request

    # Recording.

    def next_of(self, comm):
        self.sequence[comm.name] += 1
        return self.sequence[comm.name] - 1

    def posted(self, fact, completion, name, peer, tag, size):
        self.numbers += 1
        enter = self.now
        self.now += CALL_NS
        self.add(name, enter, self.now, 0, fact, trace.message(peer, tag, size, self.numbers))
        return Request(self, completion, self.numbers, peer, tag, size)

    def add(self, region, enter, leave, comm=trace.WIDE_COMM, folded=0, own=b"", facts=b""):
        self.calls.append(trace.Call.words(region, self.stamp(enter), self.stamp(leave), comm, folded, own, facts))

    # Waiting.

    def block(self, wait):
        """Begins a wait. Returns True if the requests are already complete, so that the call has ended."""
        self.waiting = wait
        self.missing = sum(request.done is None for request in wait.requests)
        return self.missing == 0 and self.leave() is not None

    def leave(self):
        wait, self.waiting = self.waiting, None
        self.now = max([wait.enter + CALL_NS] + [request.done for request in wait.requests])
        wait.record(self.now)
        return self.now

    def completed(self, request):
        if self.waiting and any(one is request for one in self.waiting.requests):
            self.missing -= 1
            if self.missing == 0:
                self.world.resume(self, self.leave())


class World:
    """One run. job: ranks and noise. make_comms(job): the communicators in addition to MPI_COMM_WORLD. program(rank): a generator."""

    def __init__(self, job, faults, make_comms, program):
        self.job, self.faults, self.program = job, faults, program
        self.comm_world = Comm("MPI_COMM_WORLD", range(job.world), 1, job.seed)
        self.comms = [Comm(name, members, 1000 + index, job.seed) for index, (name, members) in enumerate(make_comms(job))]
        self.network = Network(job.seed, job.ranks_per_host, job.world, job.link_sigma)
        self.sends, self.receives = collections.defaultdict(collections.deque), collections.defaultdict(collections.deque)
        self.ready, self.order = [], 0
        self.ranks = [Rank(self, rank) for rank in range(job.world)]

    def work_ns(self, rank, usual_ns):
        time = usual_ns * self.job.work_factor(rank.rank, rank.step)
        for fault in self.faults:
            time = time * fault.work_factor(rank.rank, rank.step) + fault.pause_ns(rank.rank, rank.step)
        return time + self.job.jitter_ns(rank.rank)

    def link_factor(self, source, target, step):
        factor = 1.0
        for fault in self.faults:
            factor *= fault.link_factor(source, target, step)
        return factor

    # Messages. A key is (receiver, sender, tag). For tags of job.any_source_tags the sender is ANY.

    def key(self, receiver, sender, tag):
        return receiver, ANY if tag in self.job.any_source_tags else sender, tag

    def send(self, rank, request, time):
        key, noise = self.key(request.peer, rank.rank, request.tag), self.network.noise(rank.rank)
        factor = self.link_factor(rank.rank, request.peer, rank.step)
        is_eager, arrival = request.size <= self.network.eager_bytes, None
        if is_eager:
            _, arrival = self.network.transfer(rank.rank, request.peer, request.size, time, noise, factor)
            request.complete(time + 0.05 * request.size)
        message = (rank.rank, request, time, arrival, noise, factor)
        if self.receives[key]:
            self.meet(message, *self.receives[key].popleft())
        else:
            self.sends[key].append(message)

    def receive(self, rank, request, time):
        key = self.key(rank.rank, request.peer, request.tag)
        if self.sends[key]:
            self.meet(self.sends[key].popleft(), request, time)
        else:
            self.receives[key].append((request, time))

    def meet(self, message, receiving, posted):
        sender, sending, begun, arrival, noise, factor = message
        receiving.peer_found, receiving.size_found = sender, sending.size
        if arrival is None:
            ready = max(begun, posted) + 2 * self.network.latency_ns[self.network.host(sender) == self.network.host(receiving.owner.rank)]
            sent, arrival = self.network.transfer(sender, receiving.owner.rank, sending.size, ready, noise, factor)
            sending.complete(sent)
        receiving.complete(max(arrival, posted))

    # Collectives. With a root, members may leave before all have entered: in a broadcast after the root, in a reduction all but the root.

    def enter_collective(self, rank, comm, name, size, root, sequence, request):
        instance = comm.open.get(sequence)
        if instance is None:
            instance = comm.open[sequence] = Instance(self.network.collective_ns(comm, name, size), {})
        index = comm.rank_of[rank.rank]
        instance.there[index] = rank.now, request
        is_whole = len(instance.there) == len(comm.members)
        if name == "MPI_Bcast":
            self.broadcast(instance, root, index)
        elif name == "MPI_Reduce" and index != root:
            request.complete(rank.now + 0.5 * instance.cost)
        if not is_whole:
            return
        del comm.open[sequence]
        if name != "MPI_Bcast":
            self.end_collective(comm, name, root, instance)

    def broadcast(self, instance, root, index):
        enter, request = instance.there[index]
        if index == root:
            request.complete(enter + 0.3 * instance.cost)
        if root in instance.there:
            for enter, waiting in list(instance.there.values()) if index == root else [(enter, request)]:
                if waiting.done is None:
                    waiting.complete(max(enter + CALL_NS, instance.there[root][0] + instance.cost))

    def end_collective(self, comm, name, root, instance):
        begin = max(comm.busy_ns, *(enter for enter, _ in instance.there.values()))
        if name == "MPI_Iallreduce":
            comm.busy_ns = begin + instance.cost
        for index in sorted(instance.there):
            _, request = instance.there[index]
            if request.done is None:
                request.complete(begin + instance.cost + comm.random.expovariate(1 / 900))

    # Time.

    def resume(self, rank, time):
        self.order += 1
        heapq.heappush(self.ready, (time, self.order, rank.rank))

    def advance(self, rank, steps):
        """Runs a rank until it computes, waits or ends."""
        for waited in steps:
            if waited is None or rank.block(waited):
                self.resume(rank, rank.now)
            return
        rank.is_done = True

    def run(self):
        """Runs all ranks. Returns the time in ns at which the last one ended."""
        begin = random.Random(f"{self.job.seed}:start")
        programs = []
        for rank in self.ranks:
            rank.now = 5e4 + begin.expovariate(1 / 2e5)
            programs.append(self.whole(rank))
            self.resume(rank, rank.now)
        while self.ready:
            _, _, index = heapq.heappop(self.ready)
            self.advance(self.ranks[index], programs[index])
        if not all(rank.is_done for rank in self.ranks):
            raise RuntimeError(f"{self.job.shape}: ranks {[rank.rank for rank in self.ranks if not rank.is_done][:4]} wait for ever")
        return max(rank.now for rank in self.ranks)

    def whole(self, rank):
        """MPI_Init, the usual start-up communication, the program, and MPI_Finalize."""
        enter = rank.now
        rank.now += 2e6
        rank.add("MPI_Init", enter, rank.now)
        yield rank.collective("MPI_Bcast", size=4096, root=0)
        yield rank.collective("MPI_Barrier", size=0)
        yield from self.program(rank)
        yield rank.collective("MPI_Reduce", size=64, root=0)
        enter = rank.now
        rank.now += 4e5
        rank.add("MPI_Finalize", enter, rank.now)
