#pragma once

#include "analysis/whatif/operation_graph.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace megascope::whatif {

/// Replays a graph, up to 16 times in one pass, each time with other durations (a *lane* is one of
/// these replays). The constructor determines an order in which every operation comes after its
/// dependencies. The end of an operation, and the ready time of a group, occupy a slot until their
/// last use; slots are reused, so the state stays small. Several threads may call step_times_ns()
/// at once if they may call `duration_ns` at once.
class Replay {
 public:
  static constexpr std::size_t kLanes = 16;  ///< largest number of lanes
  template <std::size_t Count>
  using LanesOf = std::array<double, Count>;
  using Lanes = LanesOf<kLanes>;

  /// graph: outlives the object, and is not changed after the constructor. Cyclic dependencies
  /// (caused by wrong clocks or missing calls) are removed from the graph, and counted.
  explicit Replay(OperationGraph& graph);

  /// Returns the time of each step in ns, by lane. duration_ns(operation, lanes): writes the
  /// duration of the operation in each lane, in ns. Cost: one pass over all operations. In a graph
  /// without separate steps, a step's time is the difference between its latest end and that of the
  /// previous step.
  template <std::size_t Count = kLanes, class Duration>
  std::vector<LanesOf<Count>> step_times_ns(const Duration& duration_ns) const {
    State<Count> state(*this);
    for (const Event& event : events_) play(event, duration_ns, state);
    if (!graph_.has_separate_steps) make_differences(state.last);
    return std::move(state.last);
  }
  /// The number of dependencies that were removed.
  std::size_t cut_count() const { return cut_count_; }

 private:
  enum class Kind : std::uint32_t {
    kFirstStart,  ///< start of the first starter of a group: sets the ready time of the group
    kStart,       ///< start of another starter: increases the ready time of the group
    kEnd,         ///< end of an operation without a group
    kGroupEnd     ///< end of an operation that waits for a group
  };
  static constexpr std::uint32_t
      kNothing = 0;  ///< slot of operations without a predecessor: time 0
  static constexpr std::uint32_t kNobodysEnd = 1;  ///< slot of ends that no operation needs
  /// The start of an operation that a group needs, or the end of an operation.
  struct Event {
    OperationIndex operation = 0;
    std::uint32_t from = kNothing;  ///< slot of the end of Operation::before
    std::uint32_t to = 0;           ///< slot of its own end
    std::uint32_t group : 30 = 0;   ///< slot
    std::uint32_t kind : 2 = 0;
  };

  template <std::size_t Count>
  struct State {
    explicit State(const Replay& replay)
        : last(replay.graph_.step_numbers.size()),
          ends(replay.end_slots_),
          ready(replay.group_slots_) {}

    std::vector<LanesOf<Count>> last;   ///< by step: when it ends
    std::vector<LanesOf<Count>> ends;   ///< by slot
    std::vector<LanesOf<Count>> ready;  ///< by slot: when all starters of a group have started
  };

  template <std::size_t Count, class Duration>
  void play(const Event& event, const Duration& duration_ns, State<Count>& state) const {
    using Some = LanesOf<Count>;
    const Some& from = state.ends[event.from];
    Some& ready = state.ready[event.group];
    const auto kind = static_cast<Kind>(event.kind);
    if (kind == Kind::kFirstStart) {
      ready = from;
      return;
    }
    if (kind == Kind::kStart) {
      for (std::size_t lane = 0; lane < Count; ++lane)
        ready[lane] = from[lane] > ready[lane] ? from[lane] : ready[lane];
      return;
    }
    Some end;
    duration_ns(event.operation, end);
    if (kind == Kind::kEnd) {
      for (std::size_t lane = 0; lane < Count; ++lane) end[lane] += from[lane];
    } else {
      const auto own_ns = static_cast<double>(graph_.operations[event.operation].own_ns);
      for (std::size_t lane = 0; lane < Count; ++lane) {
        const double own = from[lane] + own_ns;
        const double together = ready[lane] + end[lane];
        end[lane] = own > together ? own : together;
      }
    }
    state.ends[event.to] = end;
    Some& step = state.last[graph_.step_of[event.operation]];
    for (std::size_t lane = 0; lane < Count; ++lane)
      step[lane] = end[lane] > step[lane] ? end[lane] : step[lane];
  }

  /// The time of a step: its latest end minus the latest end of all earlier steps, at least 0.
  template <class Some>
  static void make_differences(std::vector<Some>& last) {
    Some before{};
    for (Some& step : last) {
      for (std::size_t lane = 0; lane < step.size(); ++lane) {
        const double end_ns = before[lane] > step[lane] ? before[lane] : step[lane];
        step[lane] = end_ns - before[lane];
        before[lane] = end_ns;
      }
    }
  }

  const OperationGraph& graph_;
  std::vector<Event> events_;
  std::size_t end_slots_ = 2;
  std::size_t group_slots_ = 1;
  std::size_t cut_count_ = 0;
};

}  // namespace megascope::whatif
