#pragma once

#include "mpi_layer/handles/comms.h"
#include "mpi_layer/handles/types.h"

#include <mpi.h>

#include <cstdint>

/// Bytes that this rank sends and receives in a collective, counted as in OTF2 MpiCollectiveEnd.
/// The payload of the call's arguments is counted as if each block went directly to its receiver.
/// The block that a rank sends to itself is included, except in calls with MPI_IN_PLACE. Arguments
/// that MPI ignores on this rank are not read. Any thread; cached look-ups only.
namespace megascope::mpi {

struct CollBytes {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// The properties of a communicator that the byte counts need.
struct CollGroup {
  const CommState& comm;
  /// Returns the number of processes that exchange a block with this one: those of the remote group
  /// of an intercommunicator, else all members.
  std::uint64_t partners() const {
    return static_cast<std::uint64_t>(comm.is_inter ? comm.remote_size : comm.size);
  }
  std::uint64_t size() const { return static_cast<std::uint64_t>(comm.size); }
  std::uint64_t rank() const { return static_cast<std::uint64_t>(comm.rank); }
  bool is_root(int root) const { return comm.is_inter ? root == MPI_ROOT : root == comm.rank; }
  /// Returns whether this process takes no part: it is in the root's group of an intercommunicator
  /// but not the root.
  bool is_idle(int root) const { return comm.is_inter && root == MPI_PROC_NULL; }
};

[[gnu::always_inline]] inline bool is_in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE;
}

/// Returns the sum of the positive counts. Returns 0 if counts is nullptr, which is an error that
/// MPI will report.
template <class Count>
[[gnu::always_inline]] inline std::uint64_t sum_counts(const Count* counts, std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; counts != nullptr && i < count; ++i)
    sum += counts[i] > 0 ? static_cast<std::uint64_t>(counts[i]) : 0;
  return sum;
}

[[gnu::always_inline]] inline int count_at(const int* counts, std::int32_t index) {
  return counts != nullptr ? counts[index] : 0;
}

/// Gather, Reduce: one block from each process to the root. MPI-4.1 §6.5, §6.9.1.
[[gnu::always_inline]] inline CollBytes gather_bytes(MpiThread& thread, CollGroup group, int root,
                                                     bool in_place, int sendcount,
                                                     MPI_Datatype sendtype, int recvcount,
                                                     MPI_Datatype recvtype) {
  if (group.is_idle(root)) return {};
  if (!group.is_root(root))
    return {.sent = payload_bytes(thread, sendcount, sendtype), .received = 0};
  const std::uint64_t block = payload_bytes(thread, recvcount, recvtype);
  if (group.comm.is_inter) return {.sent = 0, .received = group.partners() * block};
  if (in_place) return {.sent = 0, .received = (group.size() - 1) * block};
  return {.sent = block, .received = group.size() * block};
}

[[gnu::always_inline]] inline CollBytes gatherv_bytes(MpiThread& thread, CollGroup group, int root,
                                                      bool in_place, int sendcount,
                                                      MPI_Datatype sendtype, const int* recvcounts,
                                                      MPI_Datatype recvtype) {
  if (group.is_idle(root)) return {};
  if (!group.is_root(root))
    return {.sent = payload_bytes(thread, sendcount, sendtype), .received = 0};
  const std::uint64_t size_bytes = type_size(thread, recvtype);
  const std::uint64_t all = sum_counts(recvcounts, group.partners()) * size_bytes;
  if (group.comm.is_inter) return {.sent = 0, .received = all};
  const std::uint64_t own = payload_bytes(thread, count_at(recvcounts, group.comm.rank), recvtype);
  return in_place ? CollBytes{.sent = 0, .received = all - own}
                  : CollBytes{.sent = own, .received = all};
}

/// Exchanges the directions. The bytes of Scatter and Bcast are those of Gather with the directions
/// exchanged.
[[gnu::always_inline]] inline CollBytes reversed(CollBytes bytes) {
  return {.sent = bytes.received, .received = bytes.sent};
}

/// Alltoall, Allgather, Allreduce: one block to each and from each process. MPI-4.1 §6.7, §6.8,
/// §6.9.6.
[[gnu::always_inline]] inline CollBytes alltoall_bytes(MpiThread& thread, CollGroup group,
                                                       bool in_place, int sendcount,
                                                       MPI_Datatype sendtype, int recvcount,
                                                       MPI_Datatype recvtype) {
  const std::uint64_t block = payload_bytes(thread, recvcount, recvtype);
  if (in_place) return {.sent = (group.size() - 1) * block, .received = (group.size() - 1) * block};
  return {.sent = group.partners() * payload_bytes(thread, sendcount, sendtype),
          .received = group.partners() * block};
}

[[gnu::always_inline]] inline CollBytes allgatherv_bytes(MpiThread& thread, CollGroup group,
                                                         bool in_place, int sendcount,
                                                         MPI_Datatype sendtype,
                                                         const int* recvcounts,
                                                         MPI_Datatype recvtype) {
  const std::uint64_t all = sum_counts(recvcounts, group.partners()) * type_size(thread, recvtype);
  if (!in_place)
    return {.sent = group.partners() * payload_bytes(thread, sendcount, sendtype), .received = all};
  const std::uint64_t own = payload_bytes(thread, count_at(recvcounts, group.comm.rank), recvtype);
  return {.sent = (group.size() - 1) * own, .received = all - own};
}

[[gnu::always_inline]] inline CollBytes alltoallv_bytes(MpiThread& thread, CollGroup group,
                                                        bool in_place, const int* sendcounts,
                                                        MPI_Datatype sendtype,
                                                        const int* recvcounts,
                                                        MPI_Datatype recvtype) {
  const std::uint64_t received = sum_counts(recvcounts, group.partners()) *
                                 type_size(thread, recvtype);
  if (!in_place) {
    return {.sent = sum_counts(sendcounts, group.partners()) * type_size(thread, sendtype),
            .received = received};
  }
  const std::uint64_t others = received - payload_bytes(thread,
                                                        count_at(recvcounts, group.comm.rank),
                                                        recvtype);
  return {.sent = others, .received = others};
}

[[gnu::always_inline]] inline std::uint64_t sum_typed(MpiThread& thread, const int* counts,
                                                      const auto& types, std::uint64_t count) {
  std::uint64_t sum = 0;
  const bool is_given = counts != nullptr && types != nullptr;
  for (std::uint64_t i = 0; is_given && i < count; ++i)
    sum += payload_bytes(thread, counts[i], types[i]);
  return sum;
}

[[gnu::always_inline]] inline CollBytes alltoallw_bytes(MpiThread& thread, CollGroup group,
                                                        bool in_place, const int* sendcounts,
                                                        const auto& sendtypes,
                                                        const int* recvcounts,
                                                        const auto& recvtypes) {
  const std::uint64_t received = sum_typed(thread, recvcounts, recvtypes, group.partners());
  if (!in_place)
    return {.sent = sum_typed(thread, sendcounts, sendtypes, group.partners()),
            .received = received};
  if (received == 0) return {};
  const std::uint64_t others = received -
                               payload_bytes(thread, recvcounts[group.comm.rank],
                                             recvtypes[static_cast<std::size_t>(group.comm.rank)]);
  return {.sent = others, .received = others};
}

/// Reduce_scatter: counts refer to the local group. MPI-4.1 §6.10.
[[gnu::always_inline]] inline CollBytes reduce_scatter_bytes(MpiThread& thread, CollGroup group,
                                                             bool in_place, const int* recvcounts,
                                                             MPI_Datatype type) {
  const std::uint64_t size_bytes = type_size(thread, type);
  const std::uint64_t all = sum_counts(recvcounts, group.size()) * size_bytes;
  const std::uint64_t own = payload_bytes(thread, count_at(recvcounts, group.comm.rank), type);
  if (in_place) return {.sent = all - own, .received = (group.size() - 1) * own};
  return {.sent = all, .received = group.partners() * own};
}

[[gnu::always_inline]] inline CollBytes reduce_scatter_block_bytes(MpiThread& thread,
                                                                   CollGroup group, bool in_place,
                                                                   int recvcount,
                                                                   MPI_Datatype type) {
  const std::uint64_t block = payload_bytes(thread, recvcount, type);
  const std::uint64_t blocks = in_place ? group.size() - 1 : group.size();
  return {.sent = blocks * block, .received = in_place ? blocks * block : group.partners() * block};
}

/// Scan: one block to each higher rank and one from each lower rank. A block to this rank itself is
/// included if without_self is false. MPI-4.1 §6.11.
[[gnu::always_inline]] inline CollBytes scan_bytes(MpiThread& thread, CollGroup group,
                                                   bool without_self, int count,
                                                   MPI_Datatype type) {
  const std::uint64_t block = payload_bytes(thread, count, type);
  const std::uint64_t self = without_self ? 0 : 1;
  return {.sent = (group.size() - group.rank() - 1 + self) * block,
          .received = (group.rank() + self) * block};
}

}  // namespace megascope::mpi
