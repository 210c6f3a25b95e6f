#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <functional>

namespace megascope::cli {

/// Runs a function in several processes that communicate through a Collective. For libraries that
/// are not thread-safe or need separate memory.
///
/// Members are the calling process (rank 0) and its forked children, connected by socket pairs in a
/// binomial tree. A member has O(log members) descriptors, an operation takes O(log members)
/// rounds, and merges are in rank order. When a member dies, the operations of its neighbours in
/// the tree return an error. When these members then end, their own neighbours get an error.
/// Therefore no member blocks forever. Children die with the caller and are reaped before `run`
/// returns.
class ForkGroup {
 public:
  /// body: run once in every member; returns 0 on success. A child then flushes its standard
  /// streams and calls _exit. An exception in a child counts as failure; one in the caller
  /// propagates. members: at least 1; with 1 nothing is forked.
  /// Call only while the process has one thread.
  /// Errors name the first member that failed and how it ended; the caller's own failure comes
  /// last. `Collective::split` returns an error, except in a group of one.
  static Status run(int members, const std::function<int(Collective&)>& body);
};

/// Returns the number of processors that this process may use. It is a good number of members.
int usable_processor_count();

}  // namespace megascope::cli
