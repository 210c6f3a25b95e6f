#pragma once

#include "analysis/whatif/player.h"

#include <cstddef>
#include <span>
#include <vector>

namespace megascope::whatif {

double mean(const std::vector<double>& values);
/// 1 where one of them is none.
double ratio(double time_ns, double other_ns);

/// What a step of a run takes: as it was, where all is usual, where nothing is slow, and without or
/// with only the slowness of subjects.
class Readings {
 public:
  /// player: outlives the object; expect() has been called. has_costs_only: neither usual times nor
  /// what a subject costs alone are read.
  Readings(const Player& player, bool has_costs_only)
      : player_(player), has_costs_only_(has_costs_only) {}

  /// Once, first: the times of the whole run, those of the subjects, and what they cost together.
  void read_asked(std::span<Subject> subjects);
  /// Sets gain and, unless has_costs_only, both readings of `alone`.
  void read(std::span<Subject> subjects);

  const std::vector<double>& steps_ns() const { return steps_ns_; }
  const std::vector<double>& ideal_steps_ns() const { return ideal_steps_ns_; }
  double step_ns() const { return step_ns_; }
  double ideal_step_ns() const { return ideal_step_ns_; }
  double best_step_ns() const { return best_step_ns_; }
  /// Without the slowness of all that was asked for.
  double without_asked_ns() const { return without_asked_ns_; }
  /// The same but for one's; empty where they were one or too many.
  const std::vector<double>& without_others_ns() const { return without_others_ns_; }

 private:
  double without_ns(std::span<const Subject> subjects) const;

  const Player& player_;
  bool has_costs_only_;
  std::vector<double> steps_ns_;
  std::vector<double> ideal_steps_ns_;
  double step_ns_ = 0.0;
  double ideal_step_ns_ = 0.0;
  double best_step_ns_ = 0.0;
  double without_asked_ns_ = 0.0;
  std::vector<double> without_others_ns_;
};

}  // namespace megascope::whatif
