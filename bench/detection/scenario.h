#pragma once

#include "analysis/detect/detect.h"
#include "analysis/synth/synth.h"
#include "analysis/synth/truth.h"
#include "bench/detection/oracle.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::bench {

/// One line of the table: what is drawn alike.
struct Cell {
  std::string cause = "healthy";  ///< a cause's name, "several" or "healthy"
  double severity = 0.1;
  double noise = 0.02;
  int steps = 20;
  int size = 8;       ///< ranks, about
  int generator = 1;  ///< 2: tests/analysis/second_generator.h

  std::string name() const;
};

/// A run of the cell, and what is wrong in it.
struct Scenario {
  std::unique_ptr<RecordSource> run;
  std::vector<synth::TrueRootCause> truth;
  std::vector<OracleHint> hints;  ///< by true root cause
  std::string text;               ///< for people: grid and faults
};

/// Draws shape, place, onset, end and pattern from the seed. Faults are active in at least four
/// steps; where one stage is one rank or one host, faults that could be either begin later than the
/// first step.
synth::RunSpec draw_spec(const Cell& cell, std::uint64_t seed);
Scenario draw(const Cell& cell, std::uint64_t seed);

}  // namespace megascope::bench
