#pragma once

#include "analysis/hang/hang.h"

#include <cstdint>
#include <vector>

/// Ranks that reached neither MPI_Finalize nor MPI_Abort: where their records stop, and which of
/// them ended first.
namespace megascope::analysis {

/// The last that is known of a rank without an end: the call it was in, else the last call that
/// returned.
struct OpenEnd {
  std::int32_t world_rank = 0;
  bool has_called = false;  ///< false: no call is known, and nothing below means anything
  bool is_inside = false;
  RegionId region = kNoRegion;  ///< of the call
  std::uint64_t at_ns = 0;      ///< of a call it was in the entry, else the return
};

/// What shows which ranks ended first. The last three hold unless a rank was killed while it
/// waited, or all were ended together.
enum class FirstEnd : std::uint8_t {
  kNotShown,    ///< nothing
  kGone,        ///< their processes are gone, others of the run are there
  kOnlyOne,     ///< all other ranks reached MPI_Finalize
  kLeftBehind,  ///< it was in a call that could return; all others without an end wait for it
  kAwaited,     ///< it was outside of MPI; all others without an end wait for it
  kOneOf,       ///< several were in calls that could return, all others wait for them: one of these
                ///< ended first
};

struct OpenEnds {
  std::vector<OpenEnd> ranks;       ///< ascending
  std::vector<std::int32_t> first;  ///< ascending; empty with kNotShown
  FirstEnd evidence = FirstEnd::kNotShown;
  std::vector<std::int32_t>
      aborted;                    ///< ranks that called MPI_Abort, which ends the others as well
  std::size_t missing_count = 0;  ///< ranks without a trace, of which nothing is known

  const OpenEnd* find(std::int32_t world_rank) const;
};

/// Of a running job only ranks whose process is gone. report: of the same run as comms. Time: once
/// the members of each collective that ranks are in.
OpenEnds find_open_ends(const HangReport& report, const CommTable& comms);

}  // namespace megascope::analysis
