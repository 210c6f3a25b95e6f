"""A pool of MPI processes: run by -m mpi4py.futures, rank 0 hands out work to the others by a thread of its own."""

from mpi4py.futures import MPIPoolExecutor


def work(number):
    return sum(range(number))


def main():
    with MPIPoolExecutor() as executor:
        print(list(executor.map(work, range(0, 2000, 50), chunksize=3)), flush=True)
        print(executor.submit(pow, 2, 20).result(), flush=True)


if __name__ == "__main__":
    main()
