#pragma once

#include "analysis/detect/detect.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::detect {

/// The steps that a program annotates with the hook API. Only steps that all ranks annotate; none
/// if a rank annotates no steps, or if ranks annotate the common ones in different orders.
struct AnnotatedSteps {
  StepMarks marks;
  std::vector<std::int64_t> numbers;     ///< step numbers of the program, in order of time
  std::vector<std::string> limitations;  ///< sentences: which annotated steps are not used, and why

  bool is_there() const { return !numbers.empty(); }
};

/// Reads the annotated steps of a run. Steps of several threads of a rank that overlap count once:
/// the one that begins first. One pass over the calls of each rank that annotates steps and calls
/// MPI; other ranks are not read, and count as ranks without steps.
AnnotatedSteps annotated_steps(const RecordSource& source);

}  // namespace megascope::detect
