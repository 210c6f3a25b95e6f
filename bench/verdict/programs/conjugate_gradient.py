"""The Poisson equation on a square by conjugate gradients, rows split over ranks: halos by Sendrecv, scalar products by Allreduce."""

import sys

import numpy
from mpi4py import MPI

WORLD = MPI.COMM_WORLD


def exchange(field):
    """Receives the rows next to this rank's rows."""
    above = WORLD.rank - 1 if WORLD.rank > 0 else MPI.PROC_NULL
    below = WORLD.rank + 1 if WORLD.rank < WORLD.size - 1 else MPI.PROC_NULL
    WORLD.Sendrecv(field[1], above, 0, field[-1], below, 0)
    WORLD.Sendrecv(field[-2], below, 1, field[0], above, 1)


def apply_operator(field, result):
    exchange(field)
    result[1:-1, 1:-1] = (4 * field[1:-1, 1:-1] - field[:-2, 1:-1] - field[2:, 1:-1] - field[1:-1, :-2] - field[1:-1, 2:])


def product(one, other):
    return WORLD.allreduce(float(numpy.vdot(one[1:-1], other[1:-1])))


def solve(size, iterations):
    rows = size // WORLD.size
    residual = numpy.zeros((rows + 2, size + 2))
    residual[1:-1, 1:-1] = numpy.random.default_rng(WORLD.rank).random((rows, size))
    direction, image, solution = residual.copy(), numpy.zeros_like(residual), numpy.zeros_like(residual)
    norm = product(residual, residual)
    for _ in range(iterations):
        apply_operator(direction, image)
        step = norm / product(direction, image)
        solution += step * direction
        residual -= step * image
        norm, before = product(residual, residual), norm
        direction *= norm / before
        direction += residual
    return norm


if __name__ == "__main__":
    last = solve(int(sys.argv[1]), int(sys.argv[2]))
    if WORLD.rank == 0:
        print(f"residual {last:.6e}")
