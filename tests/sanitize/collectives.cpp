#include "tests/sanitize/parts.h"

#include <numeric>
#include <string>
#include <vector>

namespace megascope::sanitize {
namespace {

Book* g_operation_book = nullptr;

/// A reduction that calls MPI itself: a call inside a call.
void add_integers(void* in, void* in_out, int* count, MPI_Datatype* type) {
  int size = 0;
  CALL(*g_operation_book, Type_size, *type, &size);
  for (int i = 0; i < *count; ++i) static_cast<int*>(in_out)[i] += static_cast<int*>(in)[i];
}

}  // namespace

void call_collectives(Book& book, Place place, MPI_Comm comm) {
  const auto size = static_cast<std::size_t>(place.size);
  std::vector<int> one(3, place.rank);
  std::vector<int> all(3 * size);
  std::vector<int> all_sent(3 * size, place.rank);
  std::vector<int> counts(size, 3);
  std::vector<int> starts(size);
  for (std::size_t i = 0; i < size; ++i) starts[i] = static_cast<int>(3 * i);
  const int root = place.size - 1;
  CALL(book, Barrier, comm);
  CALL(book, Bcast, one.data(), 3, MPI_INT, root, comm);
  CALL(book, Reduce, one.data(), all.data(), 3, MPI_INT, MPI_SUM, root, comm);
  CALL(book, Allreduce, one.data(), all.data(), 3, MPI_INT, MPI_MAX, comm);
  CALL(book, Allreduce, MPI_IN_PLACE, all.data(), 3, MPI_INT, MPI_MAX, comm);
  CALL(book, Gather, one.data(), 3, MPI_INT, all.data(), 3, MPI_INT, root, comm);
  if (place.rank == root)
    CALL(book, Gatherv, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all.data(), counts.data(),
         starts.data(), MPI_INT, root, comm);
  else
    CALL(book, Gatherv, one.data(), 3, MPI_INT, nullptr, nullptr, nullptr, MPI_DATATYPE_NULL, root,
         comm);
  CALL(book, Scatter, all.data(), 3, MPI_INT, one.data(), 3, MPI_INT, root, comm);
  CALL(book, Scatterv, all.data(), counts.data(), starts.data(), MPI_INT, one.data(), 3, MPI_INT,
       root, comm);
  CALL(book, Allgather, one.data(), 3, MPI_INT, all.data(), 3, MPI_INT, comm);
  CALL(book, Allgatherv, one.data(), 3, MPI_INT, all.data(), counts.data(), starts.data(), MPI_INT,
       comm);
  CALL(book, Alltoall, all_sent.data(), 3, MPI_INT, all.data(), 3, MPI_INT, comm);
  CALL(book, Alltoallv, all_sent.data(), counts.data(), starts.data(), MPI_INT, all.data(),
       counts.data(), starts.data(), MPI_INT, comm);
  CALL(book, Scan, one.data(), all.data(), 3, MPI_INT, MPI_SUM, comm);
  CALL(book, Exscan, one.data(), all.data(), 3, MPI_INT, MPI_SUM, comm);
  CALL(book, Reduce_scatter_block, all_sent.data(), one.data(), 3, MPI_INT, MPI_SUM, comm);

  MPI_Request requests[3];
  int sum = 0;
  CALL(book, Ibarrier, comm, &requests[0]);
  CALL(book, Iallreduce, &place.rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
  CALL(book, Ialltoall, all_sent.data(), 3, MPI_INT, all.data(), 3, MPI_INT, comm, &requests[2]);
  CALL(book, Waitall, 3, requests, MPI_STATUSES_IGNORE);

  MPI_Op operation = MPI_OP_NULL;
  g_operation_book = &book;
  CALL(book, Op_create, &add_integers, 1, &operation);
  CALL(book, Allreduce, &place.rank, &sum, 1, MPI_INT, operation, comm);
  CALL(book, Op_free, &operation);
}

void make_communicators(Book& book, Place place) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm copy = MPI_COMM_NULL;
    CALL(book, Comm_dup, MPI_COMM_WORLD, &copy);
    CALL(book, Comm_set_name, copy, ("copy " + std::to_string(round)).c_str());
    CALL(book, Allreduce, MPI_IN_PLACE, &place.rank, 1, MPI_INT, MPI_MIN, copy);
    CALL(book, Comm_rank, copy, &place.rank);
    CALL(book, Comm_free, &copy);
  }
  MPI_Comm part = MPI_COMM_NULL;
  CALL(book, Comm_split, MPI_COMM_WORLD, place.rank, -place.rank, &part);
  CALL(book, Barrier, part);

  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group first = MPI_GROUP_NULL;
  MPI_Comm first_comm = MPI_COMM_NULL;
  const int zero = 0;
  CALL(book, Comm_group, MPI_COMM_WORLD, &world);
  CALL(book, Group_incl, world, 1, &zero, &first);
  CALL(book, Comm_create, MPI_COMM_WORLD, first, &first_comm);
  if (first_comm != MPI_COMM_NULL) CALL(book, Comm_free, &first_comm);
  CALL(book, Group_free, &first);
  CALL(book, Group_free, &world);

  MPI_Comm ring = MPI_COMM_NULL;
  const int periodic = 1;
  CALL(book, Cart_create, MPI_COMM_WORLD, 1, &place.size, &periodic, 0, &ring);
  int neighbours[2] = {};
  CALL(book, Neighbor_allgather, &place.rank, 1, MPI_INT, neighbours, 1, MPI_INT, ring);
  CALL(book, Comm_free, &ring);

  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm late = MPI_COMM_NULL;
  CALL(book, Comm_idup, MPI_COMM_WORLD, &late, &request);
  CALL(book, Wait, &request, MPI_STATUS_IGNORE);
  CALL(book, Barrier, late);
  CALL(book, Comm_free, &late);

  if (place.size == 2) {
    MPI_Comm bridge = MPI_COMM_NULL;
    int theirs = -1;
    CALL(book, Intercomm_create, part, 0, MPI_COMM_WORLD, 1 - place.rank, 30, &bridge);
    CALL(book, Allreduce, &place.rank, &theirs, 1, MPI_INT, MPI_SUM, bridge);
    CALL(book, Sendrecv, &place.rank, 1, MPI_INT, 0, 31, &theirs, 1, MPI_INT, 0, 31, bridge,
         MPI_STATUS_IGNORE);
    book.sent(1, sizeof(int));
    CALL(book, Comm_free, &bridge);
  }
  CALL(book, Comm_free, &part);
}

}  // namespace megascope::sanitize
