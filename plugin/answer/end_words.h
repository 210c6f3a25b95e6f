#pragma once

#include "analysis/hang/open_ends.h"

#include <cstdint>
#include <string>

/// Texts on ranks whose records do not end with MPI_Finalize, for all commands.
namespace megascope::answer {

/// Returns sentences: which ranks reached neither MPI_Finalize nor MPI_Abort, when their records
/// stop, and which of them ended first, if the traces show it. Empty if the records of all ranks
/// have an end. Times in the text are since the run's start.
std::string open_ends_text(const analysis::HangReport& report, const analysis::OpenEnds& ends);
/// Returns a stable key for the evidence of which ranks ended first: "gone", "only_one" …
const char* evidence_name(analysis::FirstEnd evidence);

}  // namespace megascope::answer
