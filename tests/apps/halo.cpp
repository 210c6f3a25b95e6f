#include "tests/apps/program.h"

#include <cstddef>

/// Heat in a rod, a piece on each rank, whose ends are put into the neighbours' windows: between
/// fences, between post and wait, and under locks. All three ways give the same temperatures.
namespace {

using namespace program;
constexpr int kCells = 200;
constexpr int kSteps = 150;
constexpr MPI_Aint kLeftGhost = 0;
constexpr MPI_Aint kRightGhost = kCells + 1;

struct Rod {
  Rod()
      : left(me.rank > 0 ? me.rank - 1 : MPI_PROC_NULL),
        right(me.rank + 1 < me.size ? me.rank + 1 : MPI_PROC_NULL) {
    MPI_Win_allocate((kCells + 2) * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &cells, &window);
    for (int i = 0; i < kCells + 2; ++i)
      cells[i] = me.rank == 0 && i > kCells - 10 && i <= kCells ? 100.0 : 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Rod(const Rod&) = delete;
  Rod& operator=(const Rod&) = delete;
  ~Rod() { MPI_Win_free(&window); }

  void put_ends() {
    MPI_Put(&cells[1], 1, MPI_DOUBLE, left, kRightGhost, 1, MPI_DOUBLE, window);
    MPI_Put(&cells[kCells], 1, MPI_DOUBLE, right, kLeftGhost, 1, MPI_DOUBLE, window);
  }
  void step() {
    std::vector<double> next(cells, cells + kCells + 2);
    for (int i = 1; i <= kCells; ++i)
      next[static_cast<std::size_t>(i)] += 0.25 * (cells[i - 1] - 2 * cells[i] + cells[i + 1]);
    for (int i = 1; i <= kCells; ++i) cells[i] = next[static_cast<std::size_t>(i)];
  }
  /// 0 on rank 1 when nothing came over.
  double spread() const {
    double sum = 0;
    for (int i = 1; i <= kCells; ++i) sum += (1 + 100 * me.rank) * cells[i] * cells[i];
    return sum;
  }

  Who me = who();
  int left;
  int right;
  double* cells = nullptr;
  MPI_Win window = MPI_WIN_NULL;
};

double with_fences() {
  Rod rod;
  for (int step = 0; step < kSteps; ++step) {
    MPI_Win_fence(0, rod.window);
    rod.put_ends();
    MPI_Win_fence(0, rod.window);
    rod.step();
  }
  return rod.spread();
}

double with_groups() {
  Rod rod;
  std::vector<int> neighbours;
  for (const int rank : {rod.left, rod.right}) {
    if (rank != MPI_PROC_NULL) neighbours.push_back(rank);
  }
  MPI_Group world;
  MPI_Group near;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(neighbours.size()), neighbours.data(), &near);
  for (int step = 0; step < kSteps; ++step) {
    MPI_Win_post(near, 0, rod.window);
    MPI_Win_start(near, 0, rod.window);
    rod.put_ends();
    MPI_Win_complete(rod.window);
    MPI_Win_wait(rod.window);
    rod.step();
  }
  MPI_Group_free(&near);
  MPI_Group_free(&world);
  return rod.spread();
}

double with_locks() {
  Rod rod;
  MPI_Win_lock_all(0, rod.window);
  for (int step = 0; step < kSteps; ++step) {
    rod.put_ends();
    MPI_Win_flush_all(rod.window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(rod.window);
    rod.step();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(rod.window);
  return rod.spread();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  say("fences", with_fences());
  say("groups", with_groups());
  say("locks", with_locks());
  MPI_Finalize();
}
