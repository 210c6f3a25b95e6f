#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/record/source.h"

namespace megascope::analysis {

/// The communicators of a run, each once for all its members.
class CommTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xFFFFFFFF;

  struct Entry {
    std::uint64_t global_name = 0;
    std::string name;        ///< as its lowest rank here knows it
    CommKind kind = CommKind::kIntra;
    bool is_sure = false;    ///< all its members know it by this global name (has_sure_name)
    const CommDefinition* definition = nullptr;  ///< of one member
  };

  /// source outlives the table.
  explicit CommTable(const RecordSource& source);

  std::size_t size() const { return entries_.size(); }
  const Entry& entry(Index index) const { return entries_[index]; }
  /// kNone for what the process does not define.
  Index of(std::int32_t world_rank, CommId comm) const;
  /// The process's own number of it; kNoComm when it has none, or no trace.
  CommId id_in(std::int32_t world_rank, Index index) const;
  /// World ranks, of both groups of an intercommunicator.
  std::vector<std::int32_t> members(Index index) const;
  /// World ranks that a process of `world_rank` sends to and receives from.
  std::vector<std::int32_t> partners(std::int32_t world_rank, Index index) const;

 private:
  struct Process {
    std::int32_t world_rank = 0;
    const ProcessDefinitions* definitions = nullptr;
    std::vector<Index> by_id;
    std::vector<std::pair<Index, CommId>> by_index;  ///< ascending
  };
  const Process* process(std::int32_t world_rank) const;

  std::vector<Entry> entries_;
  std::vector<Process> processes_;  ///< ascending world rank
};

}  // namespace megascope::analysis
