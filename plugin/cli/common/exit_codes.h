#pragma once

/// Exit codes of the commands: 0 if the result is usable, 2 for bad input or if there is no usable
/// result. Missing data is reported on standard error and in the result.
namespace megascope::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kFinding = 1;  ///< for commands that look for problems: a problem was found
inline constexpr int kUnusable = 2;

}  // namespace megascope::cli
