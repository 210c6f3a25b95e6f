#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace megascope::analysis {

/// How much later than another clock a clock may be set: a line over the run's time.
struct ClockLine {
  double at_begin_ns = 0.0;
  double at_end_ns = 0.0;
  double error_ns = 0.0;    ///< no moment of a clock that runs evenly is further off
  bool is_bounded = false;  ///< from both sides

  bool is_moved() const { return at_begin_ns != 0.0 || at_end_ns != 0.0; }
};

/// Bounds of how much later one clock must be set for the order of what both saw: the tightest of equal parts of the time.
class ClockBounds {
 public:
  /// length_ns: of the run.
  explicit ClockBounds(std::uint64_t length_ns) : length_ns_(static_cast<double>(length_ns) + 1.0) {}
  void add_least(std::uint64_t time_ns, double shift_ns) {
    Bound& bound = part_of(time_ns).least;
    if (shift_ns > bound.shift_ns || !bound.is_set) bound = {static_cast<double>(time_ns), shift_ns, true};
  }
  void add_most(std::uint64_t time_ns, double shift_ns) {
    Bound& bound = part_of(time_ns).most;
    if (shift_ns < bound.shift_ns || !bound.is_set) bound = {static_cast<double>(time_ns), shift_ns, true};
  }
  void merge(const ClockBounds& other);

  /// By how much a clock that is moved by a part of the line contradicts them.
  double contradiction_ns(const ClockLine& line, double part) const;
  /// The line that keeps away from all of them as far as it can.
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
  static constexpr std::size_t kParts = 64;

  Part& part_of(std::uint64_t time_ns) {
    const auto part = static_cast<std::size_t>(static_cast<double>(time_ns) / length_ns_ * static_cast<double>(kParts));
    return parts_[part < kParts ? part : kParts - 1];
  }
  struct Room {
    double least_ns = -std::numeric_limits<double>::infinity();
    double most_ns = std::numeric_limits<double>::infinity();
  };
  Room room_at(double rate) const;

  double length_ns_;
  std::array<Part, kParts> parts_;
};

}  // namespace megascope::analysis
