#pragma once

#include "analysis/advice/finding.h"

#include <string>
#include <vector>

namespace megascope::advice {
class Gather;
}

namespace megascope::answer {

struct AnswerView;

/// Known problems of MPI programs that a run shows (docs/advice.md).
struct Advice {
  std::vector<advice::Finding>
      findings;                    ///< the largest share first; comm and function in MatchTables
  std::vector<std::string> sites;  ///< by Finding::site
};

/// view: with waits and CPU times. gather: of the same pass.
Advice make_advice(const AnswerView& view, advice::Gather& gather);

}  // namespace megascope::answer
