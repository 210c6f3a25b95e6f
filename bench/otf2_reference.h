#pragma once

#include "bench/generated_run.h"

#include <cstdint>
#include <string>

namespace megascope::bench {

/// Writes the events of all ranks of `run` by calling libotf2 directly, with its own settings and
/// without definitions: what no exporter can undercut. Returns the number of records, 0 when
/// libotf2 refuses.
std::uint64_t write_with_libotf2(const GeneratedRun& run, const std::string& directory);

/// Only makes the calls that the exporters read. Returns their number.
std::uint64_t generate_only(const GeneratedRun& run);

}  // namespace megascope::bench
