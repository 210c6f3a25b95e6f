#pragma once

#include "analysis/hang/hang.h"

#include <cstdint>
#include <vector>

/// Ranks that reached neither MPI_Finalize nor MPI_Abort: the end of their records, and which of
/// them ended first.
namespace megascope::analysis {

/// The last known state of such a rank: the call it was in, or the last call that returned. Of
/// several threads the latest counts.
struct OpenEnd {
  std::int32_t world_rank = 0;
  bool has_called = false;      ///< false: no call is known; the fields below are unset
  bool is_inside = false;       ///< the rank was in the call
  RegionId region = kNoRegion;  ///< of the call
  std::uint64_t at_ns = 0;      ///< entry of the call if is_inside, else its return
};

/// The evidence for the ranks in OpenEnds::first. The last three are wrong if a rank was killed
/// while it waited, or if all ranks were ended together.
enum class FirstEnd : std::uint8_t {
  kNotShown,    ///< no evidence
  kGone,        ///< their processes are gone, others of the run exist
  kOnlyOne,     ///< all other ranks reached MPI_Finalize
  kLeftBehind,  ///< one rank was in a call that could return; all others without an end wait for it
  kAwaited,     ///< one rank was outside of MPI; all others without an end wait for it
  kOneOf,  ///< several ranks were in calls that could return, and all others wait for them: one of
           ///< these ended first
};

struct OpenEnds {
  std::vector<OpenEnd> ranks;       ///< ascending
  std::vector<std::int32_t> first;  ///< ranks that ended first, ascending; empty with kNotShown
  FirstEnd evidence = FirstEnd::kNotShown;
  std::vector<std::int32_t> aborted;  ///< ranks that called MPI_Abort, which also ends the others
  std::size_t missing_count = 0;      ///< number of ranks without a trace

  /// Returns nullptr if the rank is not in `ranks`.
  const OpenEnd* find(std::int32_t world_rank) const;
};

/// Finds the ranks without an end and, if possible, which of them ended first. In a running job
/// only ranks whose process is gone count. report: result of analyze_hang() with `comms`. Time:
/// linear in waits, and in the members of each collective that ranks are in.
OpenEnds find_open_ends(const HangReport& report, const CommTable& comms);

}  // namespace megascope::analysis
