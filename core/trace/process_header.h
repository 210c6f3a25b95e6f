#pragma once

#include "core/record/definitions.h"
#include "core/trace/definition_codec.h"
#include "core/trace/layout.h"

#include <vector>

/// Encodes the properties of a process, such as host, program and clock, as its native trace stores
/// them. Used by the recorder, and by TraceWriter, which writes imported and synthetic runs.
namespace megascope::trace {

/// Fills the header page of a new trace from the process's clock, start_ticks and first clock
/// point, which must exist. End and losses are left unchanged.
void begin_header(FileHeader& header, const ProcessInfo& info);
/// Stores how the recording ended: end_state, and `last`, the moment on three clocks.
void end_header(FileHeader& header, EndState state, const ClockPoint& last);

/// Returns the definition records of host, program, command line, MPI library, job, run directory,
/// launcher variables, world, clock domain and clock samples.
std::vector<DefinitionBytes> encode_properties(const ProcessInfo& info);

}  // namespace megascope::trace
