#pragma once

#include <string>
#include <string_view>

namespace megascope::symbols {

/// A function's symbol as the user wrote it: "Grid::exchange" for _ZN4Grid8exchangeEi,
/// "heat::solve" for __heat_MOD_solve, "solve" for solve.constprop.0. Without parameters and
/// result: they say little where lines are known. Else as it is.
std::string readable_name(std::string_view symbol);

}  // namespace megascope::symbols
