#pragma once

#include "analysis/whatif/player.h"

#include <cstddef>
#include <span>
#include <vector>

namespace megascope::whatif {

/// Returns the arithmetic mean; 0 for no values.
double mean(const std::vector<double>& values);
/// Returns time_ns / other_ns; 1 if one of them is not positive.
double ratio(double time_ns, double other_ns);

/// Replays a run with other durations of its operations, and keeps the mean step time of each
/// replay. Durations of a replay:
/// - as recorded;
/// - typical: the mean or median duration of the operation's type (usual_time.h);
/// - without slowness: as recorded, but shortened where a rank's operations of a type are on
///   average slower than typical, in a step or in the whole run (usual_time.h);
/// - a mixture: one of these for the operations of a subject, and another for all others. A subject
///   is a rank, a group of ranks, a type of operation or a root cause.
/// One thread.
class Readings {
 public:
  /// player: outlives the object; all calls of expect() have been made. has_costs_only: replays
  /// with typical durations and Scenario::alone are omitted. ideal_step_ns() then equals step_ns().
  Readings(const Player& player, bool has_costs_only)
      : player_(player), has_costs_only_(has_costs_only) {}

  /// Computes the step times that the accessors below return, and does for `subjects` what read()
  /// does. Call once, before read(). subjects: the subjects made from WhatIfOptions::asked.
  void read_asked(std::span<Subject> subjects);
  /// Sets three ratios of mean step times in Subject::scenario of each subject (Scenario in
  /// what_if.h defines them). Call after read_asked().
  /// - gain: how many times as fast the run is if only this subject is not slow;
  /// - alone: how many times as long a step takes if only this subject is slow, relative to a run
  ///   without any slowness;
  /// - alone_at_mean: how many times as long a step takes if this subject has recorded durations
  ///   and everything else typical ones, relative to a run with typical durations.
  ///
  /// `alone` and `alone_at_mean` are not set if has_costs_only is true.
  void read(std::span<Subject> subjects);

  /// Return the time of each step in ns: steps_ns() with recorded durations, ideal_steps_ns() with
  /// typical durations.
  const std::vector<double>& steps_ns() const { return steps_ns_; }
  const std::vector<double>& ideal_steps_ns() const { return ideal_steps_ns_; }
  /// Return the mean step time in ns: step_ns() with recorded durations; ideal_step_ns() with
  /// typical durations, at most step_ns(); best_step_ns() without any slowness.
  double step_ns() const { return step_ns_; }
  double ideal_step_ns() const { return ideal_step_ns_; }
  double best_step_ns() const { return best_step_ns_; }
  /// Returns the mean step time in ns if no subject of read_asked() were slow.
  double without_asked_ns() const { return without_asked_ns_; }
  /// Returns, by subject of read_asked(), the mean step time in ns if only this one of the subjects
  /// were slow. Empty if there are fewer than two or more than eight subjects.
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
