// Calls whose places tests/analysis/places_test.py looks for: inlined, templates, a lambda.
#include <mpi.h>

#include <vector>

namespace grid {

template <class T>
struct Halo {
  std::vector<T> cells{1, 2, 3};

  [[gnu::always_inline]] void exchange(int rank) const {
    T got{};
    MPI_Sendrecv(cells.data(), 1, MPI_DOUBLE, rank, 0, &got, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);  // in grid::Halo<double>::exchange
  }
  [[gnu::noinline]] int probe(int rank, int& found) const {
    MPI_Status status;
    MPI_Iprobe(rank, 9, MPI_COMM_WORLD, &found, &status);  // in grid::Halo<double>::probe
    return found;
  }
};

}  // namespace grid

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int found = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);  // in main
  const grid::Halo<double> halo;
  for (int i = 0; i < 10; ++i) halo.exchange(rank);
  const int none = halo.probe(rank, found);
  const auto wait = [none](int count) {
    for (int i = none; i < count; ++i) MPI_Barrier(MPI_COMM_WORLD);  // in main::lambda
  };
  wait(3);
  MPI_Finalize();
}
