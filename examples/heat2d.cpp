// The heat equation on a square plate, solved by Jacobi iterations on a grid of MPI processes.
//
//   mpirun -n 4 heat2d [--cells N] [--steps N] [--slow-rank R] [--slow-percent P]
//
// The program has no annotations. --slow-rank makes one rank do P % more work in each step, so that
// the other ranks wait for it.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Settings {
  int cells = 768;  // of the plate, in each direction
  int steps = 600;
  int slow_rank = -1;
  int slow_percent = 50;
};

constexpr int kStepsPerCheck = 10;

enum Side { kUp, kDown, kLeft, kRight, kSides };

// This rank's block of the plate: rows x columns cells surrounded by a halo of one cell.
struct Block {
  MPI_Comm grid = MPI_COMM_NULL;
  std::array<int, kSides> neighbour{};
  int rows = 0;
  int columns = 0;
  std::vector<double> now;
  std::vector<double> next;

  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns + 2) +
           static_cast<std::size_t>(column);
  }
};

int share_of(int cells, int parts, int index) {
  return cells / parts + (index < cells % parts ? 1 : 0);
}

Block make_block(const Settings& settings) {
  Block block;
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::array<int, 2> shape{};
  const std::array<int, 2> periodic{};
  MPI_Dims_create(ranks, 2, shape.data());
  MPI_Cart_create(MPI_COMM_WORLD, 2, shape.data(), periodic.data(), /*reorder=*/0, &block.grid);
  int rank = 0;
  std::array<int, 2> place{};
  MPI_Comm_rank(block.grid, &rank);
  MPI_Cart_coords(block.grid, rank, 2, place.data());
  MPI_Cart_shift(block.grid, 0, 1, &block.neighbour[kUp], &block.neighbour[kDown]);
  MPI_Cart_shift(block.grid, 1, 1, &block.neighbour[kLeft], &block.neighbour[kRight]);
  block.rows = share_of(settings.cells, shape[0], place[0]);
  block.columns = share_of(settings.cells, shape[1], place[1]);
  block.now.assign(block.at(block.rows + 2, 0), 0.0);
  if (block.neighbour[kUp] ==
      MPI_PROC_NULL) {  // the upper edge of the plate is hot, the other edges are cold
    for (int column = 0; column < block.columns + 2; ++column)
      block.now[block.at(0, column)] = 100.0;
  }
  block.next = block.now;
  return block;
}

// Starts the halo exchange with the four neighbors: eight requests.
void start_halo_exchange(Block& block, MPI_Datatype column_type,
                         std::array<MPI_Request, 8>& requests) {
  double* cells = block.now.data();
  const std::array<std::size_t, kSides> edge = {block.at(1, 1), block.at(block.rows, 1),
                                                block.at(1, 1), block.at(1, block.columns)};
  const std::array<std::size_t, kSides> frame = {block.at(0, 1), block.at(block.rows + 1, 1),
                                                 block.at(1, 0), block.at(1, block.columns + 1)};
  const std::array<int, kSides> opposite = {kDown, kUp, kRight, kLeft};
  for (std::size_t side = 0; side < kSides; ++side) {
    const bool is_row = side == kUp || side == kDown;
    const int count = is_row ? block.columns : 1;
    const MPI_Datatype type = is_row ? MPI_DOUBLE : column_type;
    MPI_Irecv(cells + frame[side], count, type, block.neighbour[side], opposite[side], block.grid,
              &requests[side]);
    MPI_Isend(cells + edge[side], count, type, block.neighbour[side], static_cast<int>(side),
              block.grid, &requests[kSides + side]);
  }
}

// Computes the rows first..last. Returns the sum of the squared changes.
double relax(Block& block, int first, int last) {
  double change = 0.0;
  const std::size_t line = block.at(1, 0);
  for (int row = first; row <= last; ++row) {
    for (std::size_t cell = block.at(row, 1); cell <= block.at(row, block.columns); ++cell) {
      const double value = 0.25 * (block.now[cell - line] + block.now[cell + line] +
                                   block.now[cell - 1] + block.now[cell + 1]);
      change += (value - block.now[cell]) * (value - block.now[cell]);
      block.next[cell] = value;
    }
  }
  return change;
}

// One step: halo exchange, then the new values. extra_rows are computed twice.
double step(Block& block, MPI_Datatype column_type, int extra_rows) {
  std::array<MPI_Request, 8> requests{};
  start_halo_exchange(block, column_type, requests);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  const double change = relax(block, 1, block.rows);
  if (extra_rows > 0) relax(block, 1, extra_rows);  // repeats the same work, only to be slower
  block.now.swap(block.next);
  return change;
}

Settings read_settings(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const int value = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--cells") == 0) settings.cells = value;
    if (std::strcmp(argv[i], "--steps") == 0) settings.steps = value;
    if (std::strcmp(argv[i], "--slow-rank") == 0) settings.slow_rank = value;
    if (std::strcmp(argv[i], "--slow-percent") == 0) settings.slow_percent = value;
  }
  return settings;
}

double sum_of(const Block& block) {
  double sum = 0.0;
  for (int row = 1; row <= block.rows; ++row) {
    for (int column = 1; column <= block.columns; ++column) sum += block.now[block.at(row, column)];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Settings settings = read_settings(argc, argv);
  Block block = make_block(settings);
  int rank = 0;
  MPI_Comm_rank(block.grid, &rank);
  const int extra_rows = rank == settings.slow_rank
                             ? std::min(block.rows, block.rows * settings.slow_percent / 100)
                             : 0;
  MPI_Datatype column_type = MPI_DATATYPE_NULL;
  MPI_Type_vector(block.rows, 1, block.columns + 2, MPI_DOUBLE, &column_type);
  MPI_Type_commit(&column_type);

  double residual = 0.0;
  for (int i = 1; i <= settings.steps; ++i) {
    const double change = step(block, column_type, extra_rows);
    if (i % kStepsPerCheck == 0 || i == settings.steps)
      MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_SUM, block.grid);
  }

  const double mine = sum_of(block);
  double sum = 0.0;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, /*root=*/0, block.grid);
  if (rank == 0) {
    const double cells = static_cast<double>(settings.cells) * settings.cells;
    std::printf("heat2d: %d x %d cells, %d steps: residual %.6e, mean temperature %.6f\n",
                settings.cells, settings.cells, settings.steps, std::sqrt(residual), sum / cells);
  }
  MPI_Type_free(&column_type);
  MPI_Comm_free(&block.grid);
  MPI_Finalize();
  return 0;
}
