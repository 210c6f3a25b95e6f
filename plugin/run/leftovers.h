#pragma once

#include <cstdint>
#include <string>

namespace megascope::run {

/// Disk space, in bytes, of unrecovered traces of this user in the scratch directory whose
/// processes have ended. Returns 0 if the traces, including those of live processes, do not exceed
/// `min_bytes`. Examines at most 1024 files. own_directory: the directory of this run, which is not
/// counted.
std::uint64_t leftover_bytes(const std::string& scratch, const std::string& own_directory,
                             std::uint64_t min_bytes);

}  // namespace megascope::run
