#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace megascope::analysis {

/// Amount by which a clock must be set later, relative to another clock, as a linear function of
/// its own time.
struct ClockLine {
  double at_zero_ns = 0.0;
  double rate = 0.0;        ///< ns per ns
  double error_ns = 0.0;    ///< bound of the error at any moment of the run, if both clocks have
                            ///< constant rates that differ by at most kMaxRate
  bool is_bounded = false;  ///< bounds from both sides exist; otherwise the line is 0

  double at(double time_ns) const { return at_zero_ns + rate * time_ns; }
};

/// Bounds of the amount by which one clock must be set later so that the order of messages and
/// collectives holds. The run is divided into 64 equal intervals; the tightest lower and upper
/// bound of each interval are kept. Memory: about 100 bytes per interval with bounds. One thread at
/// a time.
class ClockBounds {
 public:
  /// Largest difference of two clocks' rates that is considered: twice the error of a bad clock.
  static constexpr double kMaxRate = 200e-6;

  /// length_ns: length of the run; times passed to add_min() and add_max() lie between 0 and it.
  explicit ClockBounds(std::uint64_t length_ns)
      : length_ns_(static_cast<double>(length_ns) + 1.0) {}
  /// Add a bound: at time_ns of the clock, the amount is at least shift_ns (add_min()), or at most
  /// shift_ns (add_max()).
  void add_min(std::uint64_t time_ns, double shift_ns);
  void add_max(std::uint64_t time_ns, double shift_ns);
  /// Adds all bounds of `other`, which must have the same length_ns.
  void merge(const ClockBounds& other);

  /// Returns the largest violation of a bound if the clock is corrected by `part` × `line`. Returns
  /// 0 if no bound is violated.
  double contradiction_ns(const ClockLine& line, double part) const;
  /// Returns a line in the middle of the bounds. Its rate is the smallest that leaves at least half
  /// of the largest possible distance between the lower and the upper bounds.
  ClockLine middle() const;
  /// Returns the smallest correction that satisfies the bounds: middle(), scaled by a factor
  /// between 0 and 1. The factor is 0 if the uncorrected clock satisfies the bounds.
  ClockLine nearest() const;

 private:
  struct Bound {
    double time_ns = 0.0;
    double shift_ns = 0.0;
    bool is_set = false;
  };
  struct Part {
    Bound least;
    Bound most;
  };
  struct Slack {  ///< values at time 0 of the lines with one rate that satisfy the bounds
    double min_ns = 0.0;
    double max_ns = 0.0;
    double width_ns() const { return max_ns - min_ns; }
  };
  struct Rates {
    double low = 0.0;
    double high = 0.0;
  };
  static constexpr double kParts = 64;

  Part& part_of(std::uint64_t time_ns) {
    return parts_[static_cast<int>(static_cast<double>(time_ns) / length_ns_ * kParts)];
  }
  Slack slack_at(double rate) const;
  double best_rate() const;
  Rates rates_with(double width_ns, double best) const;
  double farthest_ns(const ClockLine& line, const Rates& rates) const;

  double length_ns_;
  std::map<int, Part> parts_;
};

}  // namespace megascope::analysis
