"""Programs of six shapes. Each has communicators in addition to the world, parallel groups, links, and the code of a rank."""

import itertools

MS = 1e6
RESULT_TAG = 77                    # between master and workers, received from any source
END_BYTES = 8                      # size of the message that ends a round, instead of a task


def no_comms(job):
    return []


def no_groups(job, rank):
    return []


class Halo:
    """Halo exchange on a 2-D or 3-D grid, periodic or not: nonblocking, while the inner part is computed."""

    def __init__(self, draw):
        self.shape = draw.choice(((4, 2), (4, 4), (8, 4), (2, 2, 2), (4, 2, 2), (4, 4, 2), (3, 3, 3)))
        self.world, self.periodic = 1, draw.random() < 0.5
        for size in self.shape:
            self.world *= size
        self.steps, self.rounds = draw.choice((30, 40, 60)), draw.choice((1, 2, 4))
        self.inner_ns, self.face_bytes = draw.choice((3, 6, 12)) * MS / self.rounds, draw.choice((8000, 60000, 400000))
        self.reduce_every = draw.choice((1, 1, 5))
        self.comms, self.groups, self.any_source_tags = no_comms, no_groups, ()

    def coordinates(self, rank):
        place = []
        for size in reversed(self.shape):
            place.insert(0, rank % size)
            rank //= size
        return place

    def rank_of(self, place):
        rank = 0
        for at, size in zip(place, self.shape):
            rank = rank * size + at
        return rank

    def neighbours(self, rank):
        """(neighbour, tag of sends, tag of receives). In a dimension of two ranks there is one neighbour."""
        found = []
        for axis, size in enumerate(self.shape):
            for index, move in enumerate((-1, 1)):
                place = self.coordinates(rank)
                place[axis] += move
                if not 0 <= place[axis] < size and (not self.periodic or size == 2):
                    continue
                place[axis] %= size
                found.append((self.rank_of(place), 2 * axis + index, 2 * axis + 1 - index))
        return found

    def links(self):
        return sorted({tuple(sorted((rank, other))) for rank in range(self.world) for other, _, _ in self.neighbours(rank)})

    def program(self, me):
        neighbours = self.neighbours(me.rank)
        for step in range(self.steps):
            me.begin_step(step)
            for _ in range(self.rounds):
                requests = [me.irecv(other, theirs, self.face_bytes) for other, _, theirs in neighbours]
                requests += [me.isend(other, mine, self.face_bytes) for other, mine, _ in neighbours]
                yield me.work(0.7 * self.inner_ns)
                yield me.waitall(requests)
                yield me.work(0.3 * self.inner_ns)
            if (step + 1) % self.reduce_every == 0:
                yield me.collective("MPI_Allreduce", size=8)
            me.end_step()


class Pipeline:
    """1F1B of a model that is split over tensor, pipeline and data parallel groups."""

    def __init__(self, draw):
        self.tp, self.pp, self.dp = draw.choice(((2, 2, 2), (1, 4, 2), (2, 4, 2), (4, 2, 2), (2, 4, 4), (1, 4, 4), (1, 4, 8), (4, 4, 2)))
        self.world, self.steps = self.tp * self.pp * self.dp, draw.choice((16, 20, 30))
        self.micro_batches, self.layers = self.pp * draw.choice((1, 2)), 2 if self.tp > 1 else 1
        self.forward_ns, self.bytes = draw.choice((1, 2, 3)) * MS, draw.choice((100000, 1000000, 4000000))
        self.names_groups, self.any_source_tags = draw.random() < 0.6, ()

    def place(self, rank):
        """Tensor parallel ranks first, then stages, then replicas."""
        return rank % self.tp, rank // self.tp % self.pp, rank // (self.tp * self.pp)

    def rank_of(self, tp, pp, dp):
        return (dp * self.pp + pp) * self.tp + tp

    def comms(self, job):
        result = []
        if self.tp > 1:
            result += [(f"tp {pp} {dp}", [self.rank_of(tp, pp, dp) for tp in range(self.tp)])
                       for pp, dp in itertools.product(range(self.pp), range(self.dp))]
        return result + [(f"dp {tp} {pp}", [self.rank_of(tp, pp, dp) for dp in range(self.dp)])
                         for tp, pp in itertools.product(range(self.tp), range(self.pp))]

    def groups(self, job, rank):
        return list(zip(("tp", "pp", "dp"), self.place(rank), (self.tp, self.pp, self.dp))) if self.names_groups else []

    def links(self):
        return [(self.rank_of(tp, pp, dp), self.rank_of(tp, pp + 1, dp))
                for tp, pp, dp in itertools.product(range(self.tp), range(self.pp - 1), range(self.dp))]

    def stage(self, index):
        return [rank for rank in range(self.world) if self.place(rank)[1] == index]

    def replica(self, index):
        return [rank for rank in range(self.world) if self.place(rank)[2] == index]

    def layers_of(self, me, group, usual_ns):
        for _ in range(self.layers):
            yield me.work(usual_ns / self.layers)
            if group:
                yield me.collective("MPI_Allreduce", group, self.bytes)

    def forward(self, me, group, place, sending):
        tp, pp, dp = place
        if pp > 0:
            yield me.recv(self.rank_of(tp, pp - 1, dp), 1, self.bytes)
        yield from self.layers_of(me, group, self.forward_ns)
        if pp < self.pp - 1:
            sending.append(me.isend(self.rank_of(tp, pp + 1, dp), 1, self.bytes))

    def backward(self, me, group, place, sending):
        tp, pp, dp = place
        if pp < self.pp - 1:
            yield me.recv(self.rank_of(tp, pp + 1, dp), 2, self.bytes)
        yield from self.layers_of(me, group, 2 * self.forward_ns)
        if pp > 0:
            sending.append(me.isend(self.rank_of(tp, pp - 1, dp), 2, self.bytes))

    def program(self, me):
        place = self.place(me.rank)
        named = {comm.name: comm for comm in me.comms}
        group, replicas = named.get(f"tp {place[1]} {place[2]}"), named[f"dp {place[0]} {place[1]}"]
        for step in range(self.steps):
            me.begin_step(step)
            sending, warmup = [], min(self.pp - 1 - place[1], self.micro_batches)
            for _ in range(warmup):
                yield from self.forward(me, group, place, sending)
            for _ in range(self.micro_batches - warmup):
                yield from self.forward(me, group, place, sending)
                yield from self.backward(me, group, place, sending)
            for _ in range(warmup):
                yield from self.backward(me, group, place, sending)
            if sending:
                yield me.waitall(sending)
            yield me.collective("MPI_Allreduce", replicas, 8 * self.bytes)
            yield me.work(0.5 * self.forward_ns)
            me.end_step()


class DataParallel:
    """Training with gradients that are reduced in buckets during the backward pass."""

    def __init__(self, draw):
        self.world, self.steps = draw.choice((8, 16, 32, 64)), draw.choice((30, 50))
        self.buckets, self.bytes = draw.choice((3, 4, 6)), draw.choice((500000, 2000000))
        self.forward_ns, self.names_groups = draw.choice((4, 10)) * MS, draw.random() < 0.5
        self.comms, self.any_source_tags = no_comms, ()

    def groups(self, job, rank):
        return [("dp", rank, self.world)] if self.names_groups else []

    def links(self):
        return []

    def program(self, me):
        for step in range(self.steps):
            me.begin_step(step)
            yield me.work(self.forward_ns)
            requests = []
            for _ in range(self.buckets):
                yield me.work(2 * self.forward_ns / self.buckets)
                requests.append(me.iallreduce(me.comms[0], self.bytes))
            yield me.waitall(requests)
            yield me.work(0.2 * self.forward_ns)
            if step % 10 == 9:
                yield me.collective("MPI_Reduce", size=8, root=0)
            me.end_step()


class MasterWorker:
    """Rank 0 sends tasks to workers that have finished their previous task. A round ends with a broadcast."""

    def __init__(self, draw):
        self.world, self.steps = draw.choice((8, 12, 16, 32)), draw.choice((20, 30))
        self.tasks, self.task_ns = draw.choice((2, 4)), draw.choice((2, 4, 8)) * MS
        self.task_bytes, self.result_bytes = draw.choice((2000, 50000)), draw.choice((1000, 12000))
        self.comms, self.groups, self.any_source_tags = no_comms, no_groups, (RESULT_TAG,)

    def links(self):
        return [(0, rank) for rank in range(1, self.world)]

    def program(self, me):
        for step in range(self.steps):
            me.begin_step(step)
            yield from self.hand_out(me) if me.rank == 0 else self.take(me)
            yield me.collective("MPI_Bcast", size=100000, root=0)
            me.end_step()

    def hand_out(self, me):
        workers, left = self.world - 1, (self.tasks - 1) * (self.world - 1)
        for worker in range(1, self.world):
            yield me.send(worker, 1, self.task_bytes)
        for _ in range(self.tasks * workers):
            request = me.irecv(-2, RESULT_TAG, self.result_bytes)
            yield me.wait(request)
            yield me.work(15e3)
            yield me.send(request.peer_found, 1, self.task_bytes if left > 0 else END_BYTES)
            left -= 1

    def take(self, me):
        """Works on tasks until the short message that ends the round."""
        while True:
            task = me.recv(0, 1, self.task_bytes)
            yield task
            if task.requests[0].size_found == END_BYTES:
                return
            yield me.work(self.task_ns)
            yield me.send(0, RESULT_TAG, self.result_bytes)


class Transpose:
    """FFT on a grid of pencils: work, all-to-all in the row, work, all-to-all in the column, and back."""

    def __init__(self, draw):
        self.rows, self.columns = draw.choice(((2, 4), (4, 4), (4, 8), (8, 8)))
        self.world, self.steps = self.rows * self.columns, draw.choice((20, 30, 40))
        self.work_ns, self.bytes = draw.choice((2, 4, 8)) * MS, draw.choice((20000, 200000))
        self.groups, self.any_source_tags = no_groups, ()

    def comms(self, job):
        rows = [(f"row {row}", [row * self.columns + column for column in range(self.columns)]) for row in range(self.rows)]
        return rows + [(f"column {column}", [row * self.columns + column for row in range(self.rows)]) for column in range(self.columns)]

    def links(self):
        return []

    def program(self, me):
        _, row, column = me.comms
        for step in range(self.steps):
            me.begin_step(step)
            for comm in (row, column, column, row):
                yield me.work(self.work_ns)
                yield me.collective("MPI_Alltoall", comm, self.bytes)
            yield me.work(0.5 * self.work_ns)
            if step % 10 == 9:
                yield me.collective("MPI_Allreduce", size=24)
            me.end_step()


class Graph:
    """Neighbours of an irregular graph, with different sizes for each pair; a sum over all ranks in every tenth iteration."""

    def __init__(self, draw):
        self.world, self.steps = draw.choice((8, 16, 24, 48)), draw.choice((60, 80, 120))
        self.work_ns = draw.choice((2, 5)) * MS
        self.edges = {}
        points = [(draw.random(), draw.random()) for _ in range(self.world)]
        for rank, (x, y) in enumerate(points):
            nearest = sorted(range(self.world), key=lambda other: (points[other][0] - x) ** 2 + (points[other][1] - y) ** 2)
            for other in nearest[1:1 + draw.choice((2, 3, 4))]:
                self.edges[tuple(sorted((rank, other)))] = draw.choice((3000, 12000, 50000, 150000))
        for rank in range(self.world - 1):  # makes the graph connected
            self.edges.setdefault((rank, rank + 1), 3000)
        self.comms, self.groups, self.any_source_tags = no_comms, no_groups, ()

    def links(self):
        return sorted(self.edges)

    def program(self, me):
        mine = [(one + other - me.rank, size) for (one, other), size in sorted(self.edges.items()) if me.rank in (one, other)]
        for step in range(self.steps):
            me.begin_step(step)
            requests = [me.irecv(other, 3, size) for other, size in mine] + [me.isend(other, 3, size) for other, size in mine]
            yield me.work(0.4 * self.work_ns)
            yield me.waitall(requests)
            yield me.work(0.6 * self.work_ns)
            if step % 10 == 9:
                yield me.collective("MPI_Allreduce", size=8)
            me.end_step()


SHAPES = {"halo": Halo, "pipeline": Pipeline, "data_parallel": DataParallel, "master_worker": MasterWorker, "transpose": Transpose,
          "graph": Graph}
