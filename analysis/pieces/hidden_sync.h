#pragma once

#include "analysis/pieces/region_run.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace megascope::pieces {

inline constexpr std::uint32_t kNoMeeting = 0xFFFFFFFF;

/// A piece by its process's index and its index there.
struct PieceRef {
  std::uint32_t process = 0;
  std::uint32_t piece = 0;
};

/// Work that waits for other ranks inside, where no record shows it: members of a group begin it at
/// different times and end it together. The shortest member's time is the work; what the others
/// took beyond it, they waited.
struct HiddenSync {
  /// What is synchronised: all pieces of one name among ranks that differ in these dimensions only.
  struct Operation {
    std::uint32_t name = 0;               ///< in RegionRun::names
    std::vector<std::string> dimensions;  ///< "tp"; {"all"}: all ranks of the run
    double share = 0.0;                   ///< of the time of all work
  };
  struct Meeting {
    std::uint32_t first = 0;  ///< in members
    std::uint32_t count = 0;
    std::uint32_t operation = 0;
    std::uint64_t work_ns = 0;
  };
  std::vector<Operation> operations;
  std::vector<Meeting> meetings;
  std::vector<PieceRef> members;  ///< meeting by meeting, processes ascending
  std::vector<std::vector<std::uint32_t>>
      meeting_of;  ///< by process and piece; kNoMeeting: not in one. Empty: there are none

  bool is_there() const { return !meetings.empty(); }
  std::uint32_t meeting(std::size_t process, std::size_t piece) const {
    return meeting_of.empty() ? kNoMeeting : meeting_of[process][piece];
  }
  std::span<const PieceRef> members_of(const Meeting& meeting) const {
    return std::span(members).subspan(meeting.first, meeting.count);
  }
};

/// Coordinates of processes: for each dimension ("tp", "pp", "dp") the index of each process.
/// Empty: all processes are one group.
using Coordinates = std::map<std::string, std::vector<std::int32_t>>;

/// What has to show that members synchronise, besides that they end together.
struct SyncRule {
  bool needs_apart_begins = false;  ///< they begin apart. Else it is enough that one member's time
                                    ///< varies: operations of devices vary for no common reason,
                                    ///< gaps between MPI calls may (data that grow for all)
  std::uint32_t unnamed = kNoMeeting;  ///< with needs_apart_begins: pieces of this name are shown
                                       ///< by their begins only, others also by members of other
                                       ///< groups, whose times differ from theirs
};

/// Infers it from the times alone, kind of piece by kind of piece and dimension by dimension;
/// clocks may be off by an amount that is constant within a step. What is too short to matter (0.05
/// % of all work) is not looked at. Deterministic.
HiddenSync find_hidden_sync(const RegionRun& run, const Coordinates& coordinates,
                            const SyncRule& rule = {});

}  // namespace megascope::pieces
