#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <functional>

namespace megascope::cli {

/// Runs a function as several processes that can talk to each other: work on all cores, where a
/// library is not safe for threads or where each member needs its own memory.
///
/// Members are the calling process (rank 0) and its forked children, joined by socket pairs in a
/// binomial tree: a member holds O(log members) descriptors, an operation takes O(log members)
/// rounds, and a merge goes in rank order. When a member dies its neighbours' operations return an
/// error; theirs end in turn, so that nobody waits for ever. Children die with the caller and are
/// all reaped before `run` returns.
class ForkGroup {
 public:
  /// body: 0 is success; it runs once in every member. A child's standard streams are flushed after
  /// it, nothing else is: it ends with _exit. An exception in a child counts as a failure; one in
  /// the caller passes through. members: at least 1; with 1 nothing is forked. Call it where the
  /// process has one thread. An error names the first member that failed and how it ended; the
  /// caller's own failure comes last. `Collective::split` is an error, except in a group of one.
  static Status run(int members, const std::function<int(Collective&)>& body);
};

/// Processors that this process may use: how many members are worth while.
int usable_processor_count();

}  // namespace megascope::cli
