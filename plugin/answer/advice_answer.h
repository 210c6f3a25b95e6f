#pragma once

#include "analysis/advice/finding.h"

#include <string>
#include <vector>

namespace megascope::advice {
class Gather;
}

namespace megascope::answer {

struct AnswerView;

/// The known problems of MPI programs that a run shows (docs/advice.md).
struct Advice {
  /// The problems, in descending order of their cost (Finding::share, a fraction of the time of all
  /// ranks). Finding::comm and Finding::function are indices in the MatchTables of the run.
  std::vector<advice::Finding> findings;
  std::vector<std::string> sites;  ///< call sites, by Finding::site: "solve (heat.c:42)"
};

/// Applies the rules of analysis/advice to a matched run, and adds the annotated region to each
/// finding that lies mostly in one. view: `waits` must be set, and also `cpu` if the kernel
/// reported CPU times. gather: facts collected in the same pass as view.waits; this function moves
/// them out. Reads the records of regions if the run has annotated regions.
Advice make_advice(const AnswerView& view, advice::Gather& gather);

}  // namespace megascope::answer
