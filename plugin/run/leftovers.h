#pragma once

#include <cstdint>
#include <string>

namespace megascope::run {

/// Bytes on disk of traces of this user that runs have left in the scratch directory: their processes are gone, and nobody has
/// recovered them. Looks at 4096 files at most, in some milliseconds. own_folder: of this run, which does not count.
std::uint64_t leftover_bytes(const std::string& scratch, const std::string& own_folder);

}  // namespace megascope::run
