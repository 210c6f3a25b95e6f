"""What users of mpi4py do: Python objects and buffers, communicators, windows, files, exceptions, threads; MPI is started by
the import and ended at exit. Rank 0 prints what was computed; the same on every run."""

import sys
import threading

import numpy
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor
from mpi4py.util import pkl5

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
RIGHT, LEFT = (RANK + 1) % SIZE, (RANK - 1) % SIZE


def say(what, *values):
    gathered = WORLD.gather(values)
    if RANK == 0:
        print(what, gathered, flush=True)


def objects():
    """Lower case: pickled. Receives probe first (Mprobe, Mrecv)."""
    request = WORLD.isend({"from": RANK, "list": list(range(RANK + 3))}, dest=RIGHT, tag=7)
    status = MPI.Status()
    got = WORLD.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
    request.wait()
    say("recv", got, status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE) > 0)
    later = WORLD.irecv(source=LEFT, tag=8)
    WORLD.send(("tuple", RANK), dest=RIGHT, tag=8)
    say("irecv", later.wait())
    say("sendrecv", WORLD.sendrecv("from %d" % RANK, dest=RIGHT, source=LEFT))
    say("proc null", WORLD.recv(source=MPI.PROC_NULL))
    say("bcast", WORLD.bcast({"root": RANK} if RANK == 1 else None, root=1))
    say("scatter", WORLD.scatter([f"part {i}" for i in range(SIZE)] if RANK == 0 else None))
    say("collectives", WORLD.allgather(RANK * RANK), WORLD.alltoall([10 * RANK + i for i in range(SIZE)]),
        WORLD.allreduce([RANK], op=MPI.SUM), WORLD.reduce(RANK, op=MPI.MAX), WORLD.scan(RANK + 1), WORLD.exscan(RANK + 1))
    big = pkl5.Intracomm(WORLD)
    arrays = big.sendrecv([numpy.arange(1000.0) + RANK, "and text"], dest=RIGHT, source=LEFT)
    say("pickle protocol 5", float(arrays[0].sum()), arrays[1])


def buffers():
    """Upper case: memory as it is."""
    send, receive = numpy.arange(16.0) + 100 * RANK, numpy.zeros(32)
    requests = [WORLD.Irecv([receive, MPI.DOUBLE], source=LEFT, tag=1), WORLD.Isend(send, dest=RIGHT, tag=1)]
    statuses = [MPI.Status(), MPI.Status()]
    MPI.Request.Waitall(requests, statuses)
    say("count", statuses[0].Get_count(MPI.DOUBLE), statuses[0].Get_elements(MPI.BYTE), float(receive.sum()))
    total = numpy.ones(4, dtype="i") * (RANK + 1)
    WORLD.Allreduce(MPI.IN_PLACE, total, op=MPI.PROD)
    counts = [i + 1 for i in range(SIZE)]
    everything = numpy.zeros(sum(counts), dtype="i")
    WORLD.Allgatherv(numpy.full(RANK + 1, RANK, dtype="i"), [everything, counts])
    say("collectives", total.tolist(), everything.tolist())
    matrix = numpy.arange(25, dtype="i").reshape(5, 5)
    column = MPI.INT.Create_vector(5, 1, 5).Commit()
    WORLD.Sendrecv([matrix.ravel()[2:], 1, column], RIGHT, 0, [matrix.ravel()[4:], 1, column], LEFT, 0)
    column.Free()
    persistent = [WORLD.Send_init(send, RIGHT, 3), WORLD.Recv_init(receive, LEFT, 3)]
    for step in range(5):
        send[0] = step
        MPI.Prequest.Startall(persistent)
        MPI.Request.Waitall(persistent)
    for request in persistent:
        request.Free()
    weird = MPI.Op.Create(lambda a, b, _: numpy.maximum(numpy.frombuffer(a), numpy.frombuffer(b),
                                                        out=numpy.frombuffer(b)), commute=True)
    WORLD.Allreduce(send, receive[:16], op=weird)
    weird.Free()
    say("types, persistence, operators", matrix.sum(), float(receive[:16].sum()))


def communicators():
    half = WORLD.Split(color=RANK % 2, key=-RANK)
    pair = WORLD.Dup()
    pair.Set_name("pair")
    between = half.Create_intercomm(0, pair, 1 - RANK % 2, tag=5)
    other = between.bcast("hello from 0" if RANK == 0 else None, root=(MPI.ROOT if RANK == 0 else MPI.PROC_NULL)
                          if RANK % 2 == 0 else 0)
    merged = between.Merge(high=RANK == 0)
    ring = WORLD.Create_cart([SIZE], periods=[True])
    first = WORLD.Create_group(WORLD.Get_group().Incl([0]), tag=9) if RANK == 0 else MPI.COMM_NULL
    say("communicators", half.size, between.Get_remote_size(), other, merged.rank, ring.Shift(0, 1), pair.Get_name(),
        MPI.Comm.Compare(WORLD, pair) == MPI.CONGRUENT, MPI.COMM_SELF.allreduce(RANK), bool(first))
    halo = ring.neighbor_alltoall(["left", "right"])
    copied = []
    key = MPI.Comm.Create_keyval(copy_fn=lambda comm, _, value: copied.append((comm.Barrier(), comm.size)) or value)
    ring.Set_attr(key, {"any": "thing"})
    copy = ring.Dup()
    say("neighbours, attributes", halo, copied, copy.Get_attr(key))
    for comm in (copy, half, pair, between, merged, ring) + ((first,) if first else ()):
        comm.Free()


def windows():
    window = MPI.Win.Allocate(8 * 16, 8, comm=WORLD)
    mine = numpy.frombuffer(window, dtype="d")
    mine[:] = RANK
    window.Fence()
    window.Put(numpy.full(4, 10.0 + RANK), RIGHT, [0, 4, MPI.DOUBLE])
    window.Fence()
    for _ in range(3):
        window.Lock(0)
        window.Accumulate(numpy.ones(2), 0, [8, 2, MPI.DOUBLE], op=MPI.SUM)
        window.Unlock(0)
    got = numpy.zeros(1)
    WORLD.Barrier()
    window.Lock_all()
    window.Get(got, RIGHT, [0, 1, MPI.DOUBLE])
    window.Flush(RIGHT)
    window.Unlock_all()
    say("window", got.tolist(), mine[:10].tolist())
    window.Free()


def files():
    file = MPI.File.Open(WORLD, "mpi4py.data", MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_view(8 * RANK, MPI.DOUBLE, MPI.DOUBLE.Create_vector(4, 1, SIZE).Create_resized(0, 8 * 4 * SIZE).Commit())
    file.Write_at_all(0, numpy.arange(4.0) + 10 * RANK)
    request = file.Iwrite_at(4, numpy.full(4, float(RANK)))
    request.Wait()
    file.Sync()
    back = numpy.zeros(8)
    status = MPI.Status()
    file.Read_at(0, back, status)
    say("file", back.tolist(), status.Get_count(MPI.DOUBLE), file.Get_size())
    file.Close()


def mistakes():
    """Every error of MPI is an exception."""
    told = []
    for wrong in (lambda: WORLD.send("to no rank", dest=SIZE), lambda: WORLD.Split(-5, 0),
                  lambda: MPI.File.Open(MPI.COMM_SELF, "not there", MPI.MODE_RDONLY), lambda: MPI.COMM_NULL.Get_rank()):
        try:
            wrong()
        except MPI.Exception as error:
            told.append(MPI.Get_error_string(error.Get_error_class()))
    short = numpy.zeros(2, dtype="i")
    try:
        WORLD.Sendrecv(numpy.arange(9, dtype="i"), RIGHT, 4, short, LEFT, 4)
    except MPI.Exception as error:
        told.append(MPI.Get_error_string(error.Get_error_class()))
    say("exceptions", told)


def threads():
    """Each thread has its communicator."""
    comms = [WORLD.Dup() for _ in range(4)]
    sums = [0] * len(comms)

    def work(index):
        for step in range(50):
            sums[index] += comms[index].allreduce(step + RANK)

    workers = [threading.Thread(target=work, args=(index,)) for index in range(len(comms))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for comm in comms:
        comm.Free()
    say("threads", MPI.Query_thread() == MPI.THREAD_MULTIPLE, sums)


def tasks():
    with MPICommExecutor(WORLD, root=0) as executor:
        if executor is not None:
            print("tasks", list(executor.map(pow, range(20), [2] * 20)), flush=True)


def main():
    for part in (objects, buffers, communicators, windows, files, mistakes, threads, tasks):
        part()
    leaked = WORLD.irecv(source=LEFT, tag=99)  # never sent, never completed: Finalize comes by itself
    return 0 if leaked else 1


if __name__ == "__main__":
    sys.exit(main())
