#include "tests/sanitize/parts.h"

#include <numeric>
#include <string>
#include <vector>

namespace megascope::sanitize {
namespace {

Ledger* g_operation_ledger = nullptr;

/// A reduction that calls MPI itself: a call inside a call.
void add_integers(void* in, void* in_out, int* count, MPI_Datatype* type) {
  int size = 0;
  CALL(*g_operation_ledger, Type_size, *type, &size);
  for (int i = 0; i < *count; ++i) static_cast<int*>(in_out)[i] += static_cast<int*>(in)[i];
}

}  // namespace

void call_collectives(Ledger& ledger, Place place, MPI_Comm comm) {
  const auto size = static_cast<std::size_t>(place.size);
  std::vector<int> one(3, place.rank);
  std::vector<int> all(3 * size);
  std::vector<int> all_sent(3 * size, place.rank);
  std::vector<int> counts(size, 3);
  std::vector<int> starts(size);
  for (std::size_t i = 0; i < size; ++i) starts[i] = static_cast<int>(3 * i);
  const int root = place.size - 1;
  CALL(ledger, Barrier, comm);
  CALL(ledger, Bcast, one.data(), 3, MPI_INT, root, comm);
  CALL(ledger, Reduce, one.data(), all.data(), 3, MPI_INT, MPI_SUM, root, comm);
  CALL(ledger, Allreduce, one.data(), all.data(), 3, MPI_INT, MPI_MAX, comm);
  CALL(ledger, Allreduce, MPI_IN_PLACE, all.data(), 3, MPI_INT, MPI_MAX, comm);
  CALL(ledger, Gather, one.data(), 3, MPI_INT, all.data(), 3, MPI_INT, root, comm);
  if (place.rank == root)
    CALL(ledger, Gatherv, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all.data(), counts.data(),
         starts.data(), MPI_INT, root, comm);
  else
    CALL(ledger, Gatherv, one.data(), 3, MPI_INT, nullptr, nullptr, nullptr, MPI_DATATYPE_NULL,
         root, comm);
  CALL(ledger, Scatter, all.data(), 3, MPI_INT, one.data(), 3, MPI_INT, root, comm);
  CALL(ledger, Scatterv, all.data(), counts.data(), starts.data(), MPI_INT, one.data(), 3, MPI_INT,
       root, comm);
  CALL(ledger, Allgather, one.data(), 3, MPI_INT, all.data(), 3, MPI_INT, comm);
  CALL(ledger, Allgatherv, one.data(), 3, MPI_INT, all.data(), counts.data(), starts.data(),
       MPI_INT, comm);
  CALL(ledger, Alltoall, all_sent.data(), 3, MPI_INT, all.data(), 3, MPI_INT, comm);
  CALL(ledger, Alltoallv, all_sent.data(), counts.data(), starts.data(), MPI_INT, all.data(),
       counts.data(), starts.data(), MPI_INT, comm);
  CALL(ledger, Scan, one.data(), all.data(), 3, MPI_INT, MPI_SUM, comm);
  CALL(ledger, Exscan, one.data(), all.data(), 3, MPI_INT, MPI_SUM, comm);
  CALL(ledger, Reduce_scatter_block, all_sent.data(), one.data(), 3, MPI_INT, MPI_SUM, comm);

  MPI_Request requests[3];
  int sum = 0;
  CALL(ledger, Ibarrier, comm, &requests[0]);
  CALL(ledger, Iallreduce, &place.rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
  CALL(ledger, Ialltoall, all_sent.data(), 3, MPI_INT, all.data(), 3, MPI_INT, comm, &requests[2]);
  CALL(ledger, Waitall, 3, requests, MPI_STATUSES_IGNORE);

  MPI_Op operation = MPI_OP_NULL;
  g_operation_ledger = &ledger;
  CALL(ledger, Op_create, &add_integers, 1, &operation);
  CALL(ledger, Allreduce, &place.rank, &sum, 1, MPI_INT, operation, comm);
  CALL(ledger, Op_free, &operation);
}

void make_communicators(Ledger& ledger, Place place) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm copy = MPI_COMM_NULL;
    CALL(ledger, Comm_dup, MPI_COMM_WORLD, &copy);
    CALL(ledger, Comm_set_name, copy, ("copy " + std::to_string(round)).c_str());
    CALL(ledger, Allreduce, MPI_IN_PLACE, &place.rank, 1, MPI_INT, MPI_MIN, copy);
    CALL(ledger, Comm_rank, copy, &place.rank);
    CALL(ledger, Comm_free, &copy);
  }
  MPI_Comm part = MPI_COMM_NULL;
  CALL(ledger, Comm_split, MPI_COMM_WORLD, place.rank, -place.rank, &part);
  CALL(ledger, Barrier, part);

  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group first = MPI_GROUP_NULL;
  MPI_Comm first_comm = MPI_COMM_NULL;
  const int zero = 0;
  CALL(ledger, Comm_group, MPI_COMM_WORLD, &world);
  CALL(ledger, Group_incl, world, 1, &zero, &first);
  CALL(ledger, Comm_create, MPI_COMM_WORLD, first, &first_comm);
  if (first_comm != MPI_COMM_NULL) CALL(ledger, Comm_free, &first_comm);
  CALL(ledger, Group_free, &first);
  CALL(ledger, Group_free, &world);

  MPI_Comm ring = MPI_COMM_NULL;
  const int periodic = 1;
  CALL(ledger, Cart_create, MPI_COMM_WORLD, 1, &place.size, &periodic, 0, &ring);
  int neighbours[2] = {};
  CALL(ledger, Neighbor_allgather, &place.rank, 1, MPI_INT, neighbours, 1, MPI_INT, ring);
  CALL(ledger, Comm_free, &ring);

  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm late = MPI_COMM_NULL;
  CALL(ledger, Comm_idup, MPI_COMM_WORLD, &late, &request);
  CALL(ledger, Wait, &request, MPI_STATUS_IGNORE);
  CALL(ledger, Barrier, late);
  CALL(ledger, Comm_free, &late);

  if (place.size == 2) {
    MPI_Comm bridge = MPI_COMM_NULL;
    int theirs = -1;
    CALL(ledger, Intercomm_create, part, 0, MPI_COMM_WORLD, 1 - place.rank, 30, &bridge);
    CALL(ledger, Allreduce, &place.rank, &theirs, 1, MPI_INT, MPI_SUM, bridge);
    CALL(ledger, Sendrecv, &place.rank, 1, MPI_INT, 0, 31, &theirs, 1, MPI_INT, 0, 31, bridge,
         MPI_STATUS_IGNORE);
    ledger.sent(1, sizeof(int));
    CALL(ledger, Comm_free, &bridge);
  }
  CALL(ledger, Comm_free, &part);
}

}  // namespace megascope::sanitize
