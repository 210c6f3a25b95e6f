"""mpi4py's own switches, and how its programs end.

  mpi4py_control.py by-hand     the program starts and ends MPI itself, at the level it asks for
  mpi4py_control.py level       the import asks for MPI_THREAD_SERIALIZED
  mpi4py_control.py exception   rank 1 has one that is not caught: -m mpi4py calls MPI_Abort
  mpi4py_control.py exit        a rank asks for exit code 3: MPI_Abort as well
  mpi4py_control.py truncated   with rc.errors = "fatal" a truncated message ends the program
"""

import sys

import mpi4py

MODE = sys.argv[1]
if MODE == "by-hand":
    mpi4py.rc.initialize = False
    mpi4py.rc.finalize = False
elif MODE == "level":
    mpi4py.rc.thread_level = "serialized"
elif MODE == "truncated":
    mpi4py.rc.errors = "fatal"

from mpi4py import MPI  # noqa: E402  the switches come first


def say(*values):
    if MODE == "by-hand" or MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(" ".join(map(str, values)) + "\n")
        sys.stdout.flush()


def ring():
    world = MPI.COMM_WORLD
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    return world.sendrecv({"of": world.rank}, dest=right, source=left)


def main():
    if MODE == "by-hand":
        say("before", MPI.Is_initialized(), MPI.Is_finalized())
        MPI.Init_thread(MPI.THREAD_FUNNELED)
    say("level", MPI.Query_thread(), MPI.Is_thread_main(), MPI.COMM_WORLD.allgather(ring()))
    MPI.COMM_WORLD.Barrier()
    if MODE == "by-hand":
        MPI.Finalize()
        say("after", MPI.Is_initialized(), MPI.Is_finalized())
    elif MODE == "exception" and MPI.COMM_WORLD.rank == 1:
        raise ValueError("this is not caught")
    elif MODE == "exit" and MPI.COMM_WORLD.rank == 0:
        sys.exit(3)
    elif MODE == "truncated":
        MPI.COMM_WORLD.Sendrecv(bytearray(64), (MPI.COMM_WORLD.rank + 1) % 2, 0, bytearray(8))
    if MODE in ("exception", "exit"):
        MPI.COMM_WORLD.recv(tag=11)  # no rank sends


if __name__ == "__main__":
    main()
