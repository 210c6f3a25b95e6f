#pragma once

#include "analysis/advice/rules.h"

/// In analysis/advice this declaration is a line of rules.h.
namespace megascope::advice {

void find_mostly_mpi(const Facts& facts, Findings& found);

}  // namespace megascope::advice
