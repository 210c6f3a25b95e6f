#pragma once

#include "analysis/detect/detect.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::detect {

/// The steps that a program annotates with the hook API. Contains only the steps that all ranks
/// annotate. Empty if a rank annotates no steps, or if ranks annotate these steps in different
/// orders.
struct AnnotatedSteps {
  StepMarks marks;
  std::vector<std::int64_t> numbers;     ///< step numbers of the program, in order of time
  std::vector<std::string> limitations;  ///< sentences: which annotated steps are not used, and why

  bool is_there() const { return !numbers.empty(); }
};

/// Reads the annotated steps of a run. If steps of several threads of a rank overlap, only the step
/// that begins first is used. Makes one pass over the calls of each rank that annotates steps and
/// calls MPI. Other ranks are not read, and count as ranks without steps.
AnnotatedSteps annotated_steps(const RecordSource& source);

}  // namespace megascope::detect
