#pragma once

#include "analysis/detect/detect.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::detect {

/// The steps that a program told through hooks, as far as all of its ranks told the same ones in
/// the same order.
struct AnnotatedSteps {
  StepMarks marks;
  std::vector<std::int64_t> numbers;     ///< the program's own, in order of time
  std::vector<std::string> limitations;  ///< sentences: what was told and is not used

  bool is_there() const { return !numbers.empty(); }
};

/// Reads all calls of processes that call MPI and tell steps; of others nothing.
AnnotatedSteps annotated_steps(const RecordSource& source);

}  // namespace megascope::detect
