#pragma once

#include "analysis/common/collective_step.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace megascope::analysis {

/// What the collectives of a run are called on, each once for all its members: communicators,
/// windows, openings of files.
class CommTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xFFFFFFFF;

  enum class What : std::uint8_t { kComm, kWindow, kFile };
  struct Entry {
    What what = What::kComm;
    std::uint64_t global_name = 0;
    std::string name;                  ///< as its lowest rank here knows it
    std::uint32_t number = 0;          ///< of a window or file, counted from 1
    CommKind kind = CommKind::kIntra;  ///< of the communicator
    bool is_sure = false;  ///< all its members know it by this global name (has_sure_name)
    const CommDefinition* definition = nullptr;  ///< the communicator as one member knows it;
                                                 ///< nullptr: of a file, not known
  };

  /// source outlives the table.
  explicit CommTable(const RecordSource& source);

  std::size_t size() const { return entries_.size(); }
  const Entry& entry(Index index) const { return entries_[index]; }
  /// kNone for what the process does not define. A CommId is the slot of a communicator.
  Index of(std::int32_t world_rank, Slot slot) const;
  /// The process's own number of it; kNoSlot when it has none, or no trace.
  Slot slot_in(std::int32_t world_rank, Index index) const;
  /// World ranks, of both groups of an intercommunicator.
  std::vector<std::int32_t> members(Index index) const;
  /// World ranks that a process of `world_rank` sends to and receives from on a communicator.
  std::vector<std::int32_t> partners(std::int32_t world_rank, Index index) const;

 private:
  struct Process {
    std::int32_t world_rank = 0;
    const ProcessDefinitions* definitions = nullptr;
    std::vector<Index> by_slot;
    std::vector<std::pair<Index, Slot>> by_index;  ///< ascending
  };
  const Process* process(std::int32_t world_rank) const;

  std::vector<Entry> entries_;
  std::vector<Process> processes_;  ///< ascending world rank
};

}  // namespace megascope::analysis
