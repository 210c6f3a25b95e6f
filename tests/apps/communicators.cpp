#include "tests/apps/program.h"

/// More communicators than a program is expected to have: 600 at the same time, and 1000 one after
/// the other.
namespace {

using namespace program;
constexpr int kTogether = 600;
constexpr int kInTurn = 1000;

MPI_Comm make(int i) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (i % 3 == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  } else if (i % 3 == 1) {
    MPI_Comm_split(MPI_COMM_WORLD, who().rank % 2, i, &comm);
  } else {
    int size = who().size;
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm);
  }
  return comm;
}

double use(MPI_Comm comm, int i) {
  double value = i;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm);
  const Who me = who(comm);
  double in = 0;
  MPI_Sendrecv(&value, 1, MPI_DOUBLE, me.next(), 1, &in, 1, MPI_DOUBLE, me.previous(), 1, comm,
               MPI_STATUS_IGNORE);
  return in;
}

double together() {
  std::vector<MPI_Comm> comms;
  double sum = 0;
  for (int i = 0; i < kTogether; ++i) comms.push_back(make(i));
  for (int i = kTogether - 1; i >= 0; --i) sum += use(comms[static_cast<std::size_t>(i)], i);
  for (int i = 0; i < kTogether; i += 2) MPI_Comm_free(&comms[static_cast<std::size_t>(i)]);
  for (int i = 1; i < kTogether; i += 2) sum += use(comms[static_cast<std::size_t>(i)], i);
  return sum;  // every second one is never freed
}

double in_turn() {
  double sum = 0;
  for (int i = 0; i < kInTurn; ++i) {
    MPI_Comm comm = make(i);
    sum += use(comm, i);
    MPI_Comm_free(&comm);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  say("together", together());
  say("in turn", in_turn());
  MPI_Finalize();
}
