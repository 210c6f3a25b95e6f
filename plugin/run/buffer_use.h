#pragma once

#include "core/buffer/buffer_use.h"
#include "core/config/options.h"

#include <string>

namespace megascope::run {

/// Returns the line that says how long rank 0's trace may grow at its rate so far, and what happens
/// then. Empty if it is full within 30 s: too late to act on it, and the report counts what is
/// dropped.
std::string buffer_use_text(const BufferUse& use, config::BufferPolicy policy);

}  // namespace megascope::run
