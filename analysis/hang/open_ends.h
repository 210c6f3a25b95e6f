#pragma once

#include "analysis/hang/hang.h"

#include <cstdint>
#include <vector>

/// Finds ranks without an end, that is, ranks that reached neither MPI_Finalize nor MPI_Abort.
/// Reports where their records end, and which of them ended first.
namespace megascope::analysis {

/// The last known state of a rank without an end: the call that it was in, or the last call that
/// returned. If the rank has several threads, the state of the thread with the latest time is used.
struct OpenEnd {
  std::int32_t world_rank = 0;
  bool has_called = false;      ///< false: no call is known; the fields below are unset
  bool is_inside = false;       ///< true: the rank was in the call. false: the call had returned
  RegionId region = kNoRegion;  ///< function of the call
  std::uint64_t at_ns = 0;      ///< entry of the call if is_inside, else its return
};

/// The evidence for the ranks in OpenEnds::first. kLeftBehind, kAwaited and kOneOf lead to a wrong
/// result if a rank was killed while it waited, or if all ranks were ended together.
enum class FirstEnd : std::uint8_t {
  kNotShown,    ///< no evidence
  kGone,        ///< the processes of these ranks are gone, but other processes of the run exist
  kOnlyOne,     ///< all other ranks reached MPI_Finalize
  kLeftBehind,  ///< one rank was in a call that could return, and all other ranks without an end
                ///< wait for this rank
  kAwaited,  ///< one rank was outside of MPI, and all other ranks without an end wait for this rank
  kOneOf,    ///< several ranks were in calls that could return, and all other ranks without an end
             ///< wait for them. One of these several ranks ended first
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
