#pragma once

#include "analysis/match/match.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Constraints on the order of moments: in each group, no `after` moment may precede any `before`
/// moment.
struct OrderConstraints {
  struct Moment {
    std::uint64_t time_ns = 0;
    std::uint32_t group = 0;
    bool is_before = false;  ///< true: the entry of a send, or of a member of a collective. false:
                             ///< an `after` moment, the return of the receive or member that
                             ///< depends on it
  };
  std::vector<std::vector<Moment>> by_process;  ///< by index in world_ranks(); in order of time
  std::uint32_t group_count = 0;
};

/// Collects the constraints that could be violated if single moments (entries and returns of calls)
/// were moved by up to `slack_ns`: those whose `after` moment is not more than slack_ns later than
/// a `before` moment. Ignores scans, and collectives that need not synchronise (is_binding() is
/// false). Memory: 32 bytes per message with a constraint. tables: must outlive the object.
class ConstraintSink final : public MatchSink {
 public:
  ConstraintSink(const MatchTables& tables, std::size_t process_count, std::uint64_t slack_ns)
      : tables_(tables), process_count_(process_count), slack_ns_(slack_ns) {}

  void begin(std::size_t task_count) override { tasks_.assign(task_count, {}); }
  void add_wait_point(Track, const WaitPoint&) override {}
  void add_message(std::size_t task, const MessageEnd& send, const MessageEnd& receive) override;
  void add_collective(std::size_t task, const Collective& collective) override;
  void end_window() override {}

  /// Returns the constraints. Call once, after match_run().
  OrderConstraints take();

 private:
  struct Found {
    std::uint32_t process = 0;
    OrderConstraints::Moment moment;
  };
  struct Task {
    std::vector<Found> found;
    std::uint32_t group_count = 0;
  };
  bool is_safe(std::uint64_t early_ns, std::uint64_t late_ns) const {
    return late_ns > early_ns && late_ns - early_ns > slack_ns_;
  }
  void add(Task& task, Track track, std::uint64_t time_ns, bool is_before) const;

  const MatchTables& tables_;
  std::size_t process_count_;
  std::uint64_t slack_ns_;
  std::vector<Task> tasks_;
};

}  // namespace megascope::analysis
