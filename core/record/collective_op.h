#pragma once

#include "core/record/definitions.h"

#include <cstdint>

/// Properties of collective operations (MPI-4.1 §6).
namespace megascope {

/// Between which members of the communicator an operation moves data.
enum class DataFlow : std::uint8_t {
  kNone,  ///< no data of the application: the operation is not a collective, or it creates or frees
          ///< a handle
  kAll,   ///< from each to all; also barriers
  kFromRoot,  ///< from the root to the others
  kToRoot,    ///< from the others to the root
  kPrefix,    ///< from each to all members of higher rank
};

constexpr DataFlow data_flow_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kBarrier:
    case CollectiveOp::kAllgather:
    case CollectiveOp::kAllgatherv:
    case CollectiveOp::kAlltoall:
    case CollectiveOp::kAlltoallv:
    case CollectiveOp::kAlltoallw:
    case CollectiveOp::kAllreduce:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kReduceScatterBlock:
      return DataFlow::kAll;
    case CollectiveOp::kBcast:
    case CollectiveOp::kScatter:
    case CollectiveOp::kScatterv:
      return DataFlow::kFromRoot;
    case CollectiveOp::kGather:
    case CollectiveOp::kGatherv:
    case CollectiveOp::kReduce:
      return DataFlow::kToRoot;
    case CollectiveOp::kScan:
    case CollectiveOp::kExscan:
      return DataFlow::kPrefix;
    case CollectiveOp::kNone:
    case CollectiveOp::kCreateHandle:
    case CollectiveOp::kDestroyHandle:
      return DataFlow::kNone;
  }
  return DataFlow::kNone;
}

/// Returns the role of a region that executes the operation, as OTF2 defines roles.
constexpr RegionRole role_of(CollectiveOp op) {
  if (op == CollectiveOp::kBarrier) return RegionRole::kCollBarrier;
  switch (data_flow_of(op)) {
    case DataFlow::kAll:
      return RegionRole::kCollAllToAll;
    case DataFlow::kFromRoot:
      return RegionRole::kCollOneToAll;
    case DataFlow::kToRoot:
      return RegionRole::kCollAllToOne;
    case DataFlow::kPrefix:
    case DataFlow::kNone:
      return RegionRole::kCollOther;
  }
  return RegionRole::kCollOther;
}

/// Returns whether members may send or receive different numbers of bytes: the v and w variants.
constexpr bool is_variable(CollectiveOp op) {
  return op == CollectiveOp::kGatherv || op == CollectiveOp::kScatterv ||
         op == CollectiveOp::kAllgatherv || op == CollectiveOp::kAlltoallv ||
         op == CollectiveOp::kAlltoallw || op == CollectiveOp::kReduceScatter;
}

/// Returns whether each member receives one block of equal size from every member. Its bytes
/// received are then the sum over all members.
constexpr bool counts_all_members(CollectiveOp op) {
  return op == CollectiveOp::kAllreduce || op == CollectiveOp::kAllgather ||
         op == CollectiveOp::kAlltoall || op == CollectiveOp::kReduceScatterBlock;
}

}  // namespace megascope
