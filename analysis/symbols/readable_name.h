#pragma once

#include <string>
#include <string_view>

namespace megascope::symbols {

/// Returns the name that a function has in the source. Examples: "Grid::exchange" for
/// _ZN4Grid8exchangeEi, "heat::solve" for __heat_MOD_solve, "solve" for solve.constprop.0.
/// Parameters and result type are removed. Other symbols lose only the suffix that the compiler
/// added (from the first '.').
std::string readable_name(std::string_view symbol);

}  // namespace megascope::symbols
