#pragma once

/// Exit codes of the commands. Missing data does not change the exit code as long as the result is
/// usable; it is reported on standard error and in the result.
namespace megascope::cli {

inline constexpr int kSuccess = 0;   ///< the result is usable
inline constexpr int kFinding = 1;   ///< a command that looks for problems found one
inline constexpr int kUnusable = 2;  ///< the input is bad, or there is no usable result

}  // namespace megascope::cli
