#pragma once

#include "analysis/whatif/operation_graph.h"

#include <array>
#include <cstdint>
#include <vector>

namespace megascope::whatif {

/// Replays a graph, several times at once with different durations. Everything comes in an order
/// found once, and what an end or a group is needed for is kept only until the last that needs it:
/// the state of a replay is as small as what runs at once.
class Replay {
 public:
  /// Replays that are made in one go.
  static constexpr std::size_t kLanes = 16;
  using Lanes = std::array<double, kLanes>;

  /// Waits that go round in a circle (clocks that are off, calls that miss) are cut, and counted.
  explicit Replay(OperationGraph& graph);

  /// The time of each step in ns, by lane. duration_ns(operation, lane): what it takes there.
  template <class Duration>
  std::vector<Lanes> step_times_ns(const Duration& duration_ns) {
    std::vector<Lanes> last(graph_.step_numbers.size(), Lanes{});
    ends_.assign(end_slots_, Lanes{});
    ready_.assign(group_slots_, Lanes{});
    for (const Event& event : events_) play(event, duration_ns, last);
    if (!graph_.has_separate_steps) make_differences(last);
    return last;
  }
  std::size_t cut_count() const { return cut_count_; }

 private:
  enum class Kind : std::uint32_t { kFirstStart, kStart, kEnd, kGroupEnd };
  static constexpr std::uint32_t kNothing = 0;     ///< slot of what ends at 0 ns
  static constexpr std::uint32_t kNobodysEnd = 1;  ///< slot of ends that nothing comes behind
  /// A start that a group waits for, or an operation's end.
  struct Event {
    OperationIndex operation = 0;
    std::uint32_t from = kNothing;  ///< slot of the end before it
    std::uint32_t to = 0;           ///< slot of its own end
    std::uint32_t group : 30 = 0;   ///< slot
    std::uint32_t kind : 2 = 0;
  };

  template <class Duration>
  void play(const Event& event, const Duration& duration_ns, std::vector<Lanes>& last) {
    const Lanes& from = ends_[event.from];
    Lanes& ready = ready_[event.group];
    const auto kind = static_cast<Kind>(event.kind);
    if (kind == Kind::kFirstStart) {
      ready = from;
      return;
    }
    if (kind == Kind::kStart) {
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        ready[lane] = from[lane] > ready[lane] ? from[lane] : ready[lane];
      return;
    }
    Lanes end;
    duration_ns(event.operation, end);
    if (kind == Kind::kEnd) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) end[lane] += from[lane];
    } else {
      const auto own_ns = static_cast<double>(graph_.operations[event.operation].own_ns);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const double own = from[lane] + own_ns;
        const double together = ready[lane] + end[lane];
        end[lane] = own > together ? own : together;
      }
    }
    ends_[event.to] = end;
    Lanes& step = last[graph_.step_of[event.operation]];
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      step[lane] = end[lane] > step[lane] ? end[lane] : step[lane];
  }
  static void make_differences(std::vector<Lanes>& last);

  OperationGraph& graph_;
  std::vector<Event> events_;
  std::size_t end_slots_ = 2;
  std::size_t group_slots_ = 1;
  std::vector<Lanes> ends_;
  std::vector<Lanes> ready_;
  std::size_t cut_count_ = 0;
};

}  // namespace megascope::whatif
