#pragma once

#include "analysis/advice/facts.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::advice {

/// A known problem of MPI programs that a run shows, and the usual remedy. Texts hold names from
/// the trace: print them sanitised.
struct Finding {
  std::string_view rule;  ///< name of the rule and of its source file, for example "small_messages"
  std::string text;       ///< one or two sentences: count, share and call site
  std::string remedy;     ///< one or two sentences
  std::vector<std::int32_t> ranks;  ///< world ranks that show the problem, ascending
  std::uint64_t count = 0;          ///< number of calls or messages; the rule determines which
  double share = 0.0;  ///< cost as a fraction of the time of all ranks, 0 to 1; 0: the problem
                       ///< costs no time
  std::uint32_t function = kNoIndex;  ///< index into Facts::functions; kNoIndex: several or none
  std::uint32_t comm = kNoIndex;
  std::uint32_t site = kNoIndex;
  std::string region;  ///< innermost region of the program around most of these calls; empty: none
                       ///< or not known
};

/// Findings that cost less than this fraction of the run are not reported.
inline constexpr double kMinShare = 0.005;

}  // namespace megascope::advice
