#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// A run as a graph: operations of the ranks, and the dependencies between them. It can be replayed
/// with other durations. All times are in ns.
namespace megascope::whatif {

using OperationIndex = std::uint32_t;
/// Value of an index of an operation or a group that means "none".
inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

/// Duration of a transfer that is unknown because the transfer ended before the call that completes
/// it was entered. Replays use 0.
inline constexpr float kUnknownDuration = -1.0F;

/// A segment of a rank's time: work, or a communication call. It starts when `before` has ended. It
/// ends
/// - without a group: duration_ns after its start;
/// - with a group (the operations of a message or of a collective): duration_ns after the last
///   starter of the group has started, but no sooner than own_ns after its own start. Starters are
///   the members on which the end depends: the sender; the root of a broadcast; all members of an
///   allreduce.
struct Operation {
  OperationIndex
      before = kNone;  ///< previous operation of the rank; kNone: the operation starts at time 0
  std::uint32_t type = 0;       ///< index in OperationGraph::types
  std::uint32_t group = kNone;  ///< group whose starters it waits for; kNone: it waits for no group
  float duration_ns = 0.0F;
  float own_ns = 0.0F;
};

/// A type of operation. Durations of operations of one type are compared with each other.
struct OperationType {
  std::uint32_t name = 0;  ///< index in OperationGraph::names
  bool is_work = true;
};

/// The graph. Built by build_graph(). Types, groups and operations are referred to by index.
struct OperationGraph {
  std::vector<Operation> operations;
  std::vector<std::uint32_t> step_of;  ///< by operation: index in step_numbers
  std::vector<std::uint32_t> rank_of;  ///< by operation: index in world_ranks
  /// By group: index of its first starter in `starters`. One more entry at the end. Empty if there
  /// are no groups.
  std::vector<std::uint32_t> group_begin;
  std::vector<OperationIndex> starters;  ///< the starters of all groups, one group after the other
  /// By group: true if its members are work that contains synchronisation, and that the ranks of
  /// all starters do together. May be shorter than group_count(). Groups without an entry have the
  /// value false.
  std::vector<bool> is_shared;
  std::vector<OperationType> types;
  std::vector<std::string>
      names;  ///< names of types for users, for example "forward-compute" or "MPI_Allreduce"
  std::vector<std::int64_t> step_numbers;  ///< by step: the application's number
  std::vector<std::int32_t> world_ranks;
  /// true: steps are replayed independently, each from 0. false: a step follows the previous one.
  bool has_separate_steps = false;
  std::vector<std::string> limitations;  ///< sentences

  bool is_shared_group(std::uint32_t group) const {
    return group < is_shared.size() && is_shared[group];
  }
  std::size_t group_count() const { return group_begin.empty() ? 0 : group_begin.size() - 1; }
};

/// For each number below `count`, a list of numbers. Used as adjacency lists. Read-only after
/// construction; any thread.
class NumberLists {
 public:
  NumberLists() = default;
  /// pairs(emit) calls emit(from, to) for each entry, with `from` below `count`. It is called twice
  /// and must emit the same entries in the same order both times.
  template <class Pairs>
  NumberLists(std::size_t count, Pairs&& pairs) : begin_(count + 2) {
    pairs([this](std::uint32_t from, std::uint32_t) { ++begin_[from + 2]; });
    for (std::size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    entries_.resize(begin_.back());
    pairs([this](std::uint32_t from, std::uint32_t to) { entries_[begin_[from + 1]++] = to; });
  }
  /// Returns the entries of `from`, in the order of emission. Valid as long as the object.
  std::span<const std::uint32_t> of(std::uint32_t from) const {
    return {entries_.data() + begin_[from], entries_.data() + begin_[from + 1]};
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> entries_;
};

}  // namespace megascope::whatif
