"""Parallel HDF5, a library that uses MPI-IO under the program: a dataset written and read by all ranks together, another by
each rank for itself."""

import sys

import h5py
import numpy
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
ROWS, COLUMNS = 12, 500


def write(path):
    with h5py.File(path, "w", driver="mpio", comm=WORLD) as file:
        file.attrs["ranks"] = WORLD.size
        shared = file.create_dataset("shared", (ROWS, COLUMNS), dtype="f8")
        alone = file.create_dataset("alone", (WORLD.size, COLUMNS), dtype="i4", chunks=(1, COLUMNS))
        mine = slice(WORLD.rank, ROWS, WORLD.size)
        with shared.collective:
            shared[mine, :] = numpy.arange(COLUMNS) + 1000.0 * WORLD.rank
        alone[WORLD.rank, :] = WORLD.rank + numpy.arange(COLUMNS)
        for index in range(5):
            file.create_group(f"step{index}").attrs["index"] = index


def read(path):
    with h5py.File(path, "r", driver="mpio", comm=WORLD) as file:
        with file["shared"].collective:
            everything = file["shared"][:, :]
        return float(everything.sum()), int(file["alone"][:].sum()), sorted(file), int(file.attrs["ranks"])


def main():
    if not h5py.get_config().mpi:
        sys.exit("h5py was built without MPI")
    write("parallel.h5")
    found = WORLD.gather(read("parallel.h5"))
    try:
        h5py.File("not_there.h5", "r", driver="mpio", comm=WORLD)
    except OSError:
        found.append("refused") if WORLD.rank == 0 else None
    if WORLD.rank == 0:
        print(found, flush=True)


if __name__ == "__main__":
    main()
