#pragma once

#include "core/record/definitions.h"

/// Kinds of collectives that the advice distinguishes.
namespace megascope::advice {

/// The members may contribute different amounts.
inline bool is_variable(CollectiveOp op) {
  return op == CollectiveOp::kGatherv || op == CollectiveOp::kScatterv ||
         op == CollectiveOp::kAllgatherv || op == CollectiveOp::kAlltoallv ||
         op == CollectiveOp::kAlltoallw || op == CollectiveOp::kReduceScatter;
}

/// The recorded bytes are those of all members.
inline bool counts_all_members(CollectiveOp op) {
  return op == CollectiveOp::kAllreduce || op == CollectiveOp::kAllgather ||
         op == CollectiveOp::kAlltoall || op == CollectiveOp::kReduceScatterBlock;
}

/// Several small operations of this kind can be combined. Broadcasts have a rule of their own.
inline bool may_be_tiny(CollectiveOp op) {
  return counts_all_members(op) || op == CollectiveOp::kReduce;
}

}  // namespace megascope::advice
