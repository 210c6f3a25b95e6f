#pragma once

#include "mpi_layer/semantics/coll.h"

/// Semantics of neighbourhood collectives. They record the sequence number on the communicator, the
/// bytes sent and received, and the request. MPI-4.1 §8.6; OTF2 MpiCollectiveEnd,
/// NonBlockingCollectiveRequest.
namespace megascope::mpi {

namespace coll {

// Neighbourhood collectives: one block to each existing destination and from each existing source.

[[gnu::always_inline]] inline std::uint64_t existing(const std::vector<std::int32_t>& ranks) {
  std::uint64_t count = 0;
  for (const std::int32_t rank : ranks) count += rank != MPI_PROC_NULL ? 1 : 0;
  return count;
}
[[gnu::always_inline]] inline std::uint64_t sum_existing(const std::vector<std::int32_t>& ranks,
                                                         const int* counts) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; counts != nullptr && i < ranks.size(); ++i) {
    if (ranks[i] != MPI_PROC_NULL && counts[i] > 0) sum += static_cast<std::uint64_t>(counts[i]);
  }
  return sum;
}
struct NeighborAlltoall {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void*, int sendcount,
                                              Type sendtype, void*, int recvcount, Type recvtype,
                                              MPI_Comm comm, MPI_Request* = nullptr) noexcept {
    CommState* state = begin(thread, call, comm);
    if (state == nullptr) return;
    const CommState::Neighbours& neighbours = neighbours_of(*state, comm);
    set_bytes(
        call,
        {.sent = existing(neighbours.destinations) * payload_bytes(thread, sendcount, sendtype),
         .received = existing(neighbours.sources) * payload_bytes(thread, recvcount, recvtype)});
  }
};
struct NeighborAllgatherv {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void*, int sendcount,
                                              Type sendtype, void*, const int* recvcounts,
                                              const int*, Type recvtype, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    const CommState::Neighbours& neighbours = neighbours_of(*state, comm);
    set_bytes(
        call,
        {.sent = existing(neighbours.destinations) * payload_bytes(thread, sendcount, sendtype),
         .received = sum_existing(neighbours.sources, recvcounts) * type_size(thread, recvtype)});
  }
};
struct NeighborAlltoallv {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void*,
                                              const int* sendcounts, const int*, Type sendtype,
                                              void*, const int* recvcounts, const int*,
                                              Type recvtype, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    const CommState::Neighbours& neighbours = neighbours_of(*state, comm);
    set_bytes(
        call,
        {.sent = sum_existing(neighbours.destinations, sendcounts) * type_size(thread, sendtype),
         .received = sum_existing(neighbours.sources, recvcounts) * type_size(thread, recvtype)});
  }
};
struct NeighborAlltoallw {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, bytes sent, bytes received";
  [[gnu::always_inline]] static void describe(Thread& thread, Rec& call, const void*,
                                              const int* sendcounts, const MPI_Aint*,
                                              const auto& sendtypes, void*, const int* recvcounts,
                                              const MPI_Aint*, const auto& recvtypes, MPI_Comm comm,
                                              MPI_Request* = nullptr) noexcept {
    CommState* state = begin_with_array(thread, call, comm);
    if (state == nullptr) return;
    const CommState::Neighbours& neighbours = neighbours_of(*state, comm);
    set_bytes(call, {.sent = sum(thread, neighbours.destinations, sendcounts, sendtypes),
                     .received = sum(thread, neighbours.sources, recvcounts, recvtypes)});
  }
  [[gnu::always_inline]] static std::uint64_t sum(Thread& thread,
                                                  const std::vector<std::int32_t>& ranks,
                                                  const int* counts, const auto& types) noexcept {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; counts != nullptr && types != nullptr && i < ranks.size(); ++i) {
      if (ranks[i] != MPI_PROC_NULL) bytes += payload_bytes(thread, counts[i], types[i]);
    }
    return bytes;
  }
};

}  // namespace coll

#define MEGASCOPE_COLLECTIVE(blocking, nonblocking, shape)         \
  template <>                                                      \
  struct Semantics<Fn::blocking> : coll::Blocking<coll::shape> {}; \
  template <>                                                      \
  struct Semantics<Fn::nonblocking> : coll::Nonblocking<coll::shape> {};
MEGASCOPE_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, NeighborAlltoall)
MEGASCOPE_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, NeighborAllgatherv)
MEGASCOPE_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, NeighborAlltoall)
MEGASCOPE_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, NeighborAlltoallv)
MEGASCOPE_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, NeighborAlltoallw)
#undef MEGASCOPE_COLLECTIVE

}  // namespace megascope::mpi
