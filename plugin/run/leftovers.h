#pragma once

#include <cstdint>
#include <string>

namespace megascope::run {

/// Bytes on disk of traces of this user that runs have left in the scratch directory: their
/// processes are gone, and nobody has recovered them; 0 if all traces there together have not more
/// than `min_bytes`. Looks at 1024 files at most. own_folder: of this run, which does not count.
std::uint64_t leftover_bytes(const std::string& scratch, const std::string& own_folder,
                             std::uint64_t min_bytes);

}  // namespace megascope::run
