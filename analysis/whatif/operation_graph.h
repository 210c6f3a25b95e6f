#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// What a run's ranks did, as operations that wait for each other: a graph that can be replayed
/// with other durations.
namespace megascope::whatif {

using OperationIndex = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

inline constexpr float kUnknownDuration = -1.0F;

/// A piece of a rank's time. It starts when `before` has ended. Work then takes its duration;
/// communication takes it from the moment at which all that its group waits for have started, and
/// ends no sooner than `own_ns` after its own start.
struct Operation {
  OperationIndex before = kNone;
  std::uint32_t type = 0;
  std::uint32_t group = kNone;
  float duration_ns = 0.0F;
  float own_ns = 0.0F;
};

/// Operations that do the same: durations of one type are comparable.
struct OperationType {
  std::uint32_t name = 0;  ///< in OperationGraph::names
  bool is_work = true;
};

struct OperationGraph {
  std::vector<Operation> operations;
  std::vector<std::uint32_t> step_of;      ///< by operation, in step_numbers
  std::vector<std::uint32_t> rank_of;      ///< by operation, in world_ranks
  std::vector<std::uint32_t> group_begin;  ///< by group, and the end: in starters
  std::vector<OperationIndex> starters;    ///< whose start a group waits for
  std::vector<bool> is_shared;  ///< by group: work of all starters' ranks in step; shorter than
                                ///< group_count(): the rest are not
  std::vector<OperationType> types;
  std::vector<std::string> names;  ///< what people call types: "forward-compute", "MPI_Allreduce"
  std::vector<std::int64_t> step_numbers;  ///< the program's own
  std::vector<std::int32_t> world_ranks;
  bool has_separate_steps = false;       ///< each step begins at 0; else they follow each other
  std::vector<std::string> limitations;  ///< sentences

  bool is_shared_group(std::uint32_t group) const {
    return group < is_shared.size() && is_shared[group];
  }
  std::size_t group_count() const { return group_begin.empty() ? 0 : group_begin.size() - 1; }
};

/// Lists of numbers, by number.
class NumberLists {
 public:
  NumberLists() = default;
  /// pairs(emit) calls emit(from, to) for each entry, every time that it is called the same.
  template <class Pairs>
  NumberLists(std::size_t count, Pairs&& pairs) : begin_(count + 2) {
    pairs([this](std::uint32_t from, std::uint32_t) { ++begin_[from + 2]; });
    for (std::size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    entries_.resize(begin_.back());
    pairs([this](std::uint32_t from, std::uint32_t to) { entries_[begin_[from + 1]++] = to; });
  }
  std::span<const std::uint32_t> of(std::uint32_t from) const {
    return {entries_.data() + begin_[from], entries_.data() + begin_[from + 1]};
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> entries_;
};

}  // namespace megascope::whatif
