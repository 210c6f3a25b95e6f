#pragma once

#include "analysis/common/collective_step.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace megascope::analysis {

/// The communicators, windows and opened files of a run. Each has one entry for all its members,
/// identified by its global name. Const functions may be called by any thread.
class CommTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xFFFFFFFF;

  enum class What : std::uint8_t { kComm, kWindow, kFile };
  struct Entry {
    What what = What::kComm;
    std::uint64_t global_name = 0;
    std::string name;                  ///< name in the trace of the lowest rank that defines it
    std::uint32_t number = 0;          ///< number among the entries of the same `what`, from 1
    CommKind kind = CommKind::kIntra;  ///< kind of the communicator. For a window or file: kind of
                                       ///< the communicator on which it was created
    bool is_sure = false;  ///< the global name is the same in all members (has_sure_name())
    const CommDefinition* definition = nullptr;  ///< the communicator, as the member with the
                                                 ///< lowest rank sees it; nullptr: unknown
  };

  /// `source` must outlive the table. O(definitions · log definitions).
  explicit CommTable(const RecordSource& source);

  std::size_t size() const { return entries_.size(); }
  const Entry& entry(Index index) const { return entries_[index]; }
  /// Returns the entry of a process's slot; kNone if the process has no trace or no such slot. The
  /// slot of a communicator is its CommId.
  Index of(std::int32_t world_rank, Slot slot) const;
  /// Returns the slot of an entry in one process; kNoSlot if the process has no trace or does not
  /// define it.
  Slot slot_in(std::int32_t world_rank, Index index) const;
  /// Returns the world ranks of the members; for an intercommunicator those of both groups. Empty
  /// if the communicator is unknown.
  std::vector<std::int32_t> members(Index index) const;
  /// Returns the world ranks that `peer` arguments of `world_rank` refer to on a communicator, in
  /// rank order: the remote group of an intercommunicator, else all members. Empty for windows and
  /// files.
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
