#pragma once

#include "core/record/definitions.h"
#include "core/trace/definition_codec.h"
#include "core/trace/layout.h"

#include <vector>

/// What a trace says of its process, for whoever writes one: a recorder, or an offline writer.
namespace megascope::trace {

/// Fills the header page of a trace that begins, from the process's own words: its clock,
/// start_ticks and the first of its clock points, which must be there. End and losses stay as they
/// are.
void begin_header(FileHeader& header, const ProcessInfo& info);
/// Fills in how it ended: end_state, and `last`, the moment on three clocks.
void end_header(FileHeader& header, EndState state, const ClockPoint& last);

/// The definition records of host, program, command line, MPI library, job, folder, launcher, world
/// and clock domain, and of the clock samples that there are.
std::vector<DefinitionBytes> encode_properties(const ProcessInfo& info);

}  // namespace megascope::trace
