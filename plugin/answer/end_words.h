#pragma once

#include "analysis/hang/open_ends.h"

#include <cstdint>
#include <string>

/// Text on ranks whose records have no end, for all commands.
namespace megascope::answer {

/// Which ranks reached neither MPI_Finalize nor MPI_Abort, where their records stop, and which
/// ended first as far as the traces show it. Sentences; empty when all ranks have an end. Times:
/// since the run's start.
std::string open_ends_text(const analysis::HangReport& report, const analysis::OpenEnds& ends);
/// "gone", "only_one" …: what shows which ranks ended first; stable.
const char* evidence_name(analysis::FirstEnd evidence);

}  // namespace megascope::answer
