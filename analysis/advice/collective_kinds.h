#pragma once

#include "core/record/definitions.h"

/// Kinds of collective operations that the rules of the advice distinguish.
namespace megascope::advice {

/// Returns whether the members may contribute different amounts of data (MPI_Gatherv and similar).
inline bool is_variable(CollectiveOp op) {
  return op == CollectiveOp::kGatherv || op == CollectiveOp::kScatterv ||
         op == CollectiveOp::kAllgatherv || op == CollectiveOp::kAlltoallv ||
         op == CollectiveOp::kAlltoallw || op == CollectiveOp::kReduceScatter;
}

/// Returns whether the recorded bytes are the sum over all members, not the amount of one member.
inline bool counts_all_members(CollectiveOp op) {
  return op == CollectiveOp::kAllreduce || op == CollectiveOp::kAllgather ||
         op == CollectiveOp::kAlltoall || op == CollectiveOp::kReduceScatterBlock;
}

/// Returns whether several small operations of this kind can be combined to one. Excludes
/// broadcasts, which have a rule of their own.
inline bool may_be_tiny(CollectiveOp op) {
  return counts_all_members(op) || op == CollectiveOp::kReduce;
}

}  // namespace megascope::advice
