#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace megascope::analysis {

/// How much later than another clock a clock must be set, by its own time.
struct ClockLine {
  double at_zero_ns = 0.0;
  double rate = 0.0;      ///< ns a ns
  double error_ns = 0.0;  ///< no moment of the run is further off, if the clocks run evenly and not
                          ///< faster than each other by kMaxRate
  bool is_bounded = false;  ///< from both sides

  double at(double time_ns) const { return at_zero_ns + rate * time_ns; }
};

/// Bounds of how much later one clock must be set for the order of what both saw: the tightest of
/// equal parts of the time. Memory: some 100 bytes a part that holds any, of which there are 64.
class ClockBounds {
 public:
  /// Clocks differ by no more than this in their rate: twice what is bad for one.
  static constexpr double kMaxRate = 200e-6;

  /// length_ns: of the run, as the clocks show it.
  explicit ClockBounds(std::uint64_t length_ns)
      : length_ns_(static_cast<double>(length_ns) + 1.0) {}
  void add_min(std::uint64_t time_ns, double shift_ns);
  void add_max(std::uint64_t time_ns, double shift_ns);
  void merge(const ClockBounds& other);

  /// By how much a clock that is moved by a part of the line contradicts them.
  double contradiction_ns(const ClockLine& line, double part) const;
  /// A line in their middle, of the least rate that leaves it at least half of the slack there is.
  ClockLine middle() const;
  /// The smallest part of that line that obeys them: none where the clock does as it is.
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
  struct Slack {  ///< where lines of a rate may be at time 0
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
