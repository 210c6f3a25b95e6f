#pragma once

#include "analysis/detect/reduction.h"
#include "analysis/match/match.h"
#include "analysis/pieces/region_run.h"

#include <cstdint>
#include <vector>

namespace megascope::pieces {

/// Collects transfers between processes of a run of regions while it is matched. A transfer takes
/// as long as the shorter of its two ends: it belongs to the process that came last, and so no
/// clocks are compared.
class LinkSink final : public analysis::MatchSink {
 public:
  /// step_numbers: the steps of the links, ascending. All outlive the object.
  LinkSink(const RegionRun& run, const analysis::MatchTables& tables,
           const std::vector<std::int64_t>& step_numbers);

  void begin(std::size_t task_count) override { tasks_.assign(task_count, {}); }
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override {}
  void add_message(std::size_t task, const analysis::MessageEnd& send,
                   const analysis::MessageEnd& receive) override;
  void add_collective(std::size_t, const analysis::Collective&) override {}
  void end_window() override {}

  /// After the pass, once: by sender, receiver, size and name of the operation. from, to: indices
  /// into world_ranks().
  std::vector<detect::Link> take();

 private:
  struct Communication {
    std::uint64_t begin_ns = 0;
    std::uint32_t track = 0;
    std::uint32_t name = 0;
    std::uint32_t step = 0;
  };
  struct Transfer {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t size_class = 0;
    std::uint32_t name = 0;
    std::uint32_t step = 0;
    float transfer_ns = 0.0F;
  };
  const Communication* find(std::size_t process, analysis::Track track,
                            std::uint64_t begin_ns) const;

  const analysis::MatchTables& tables_;
  std::size_t step_count_ = 0;
  std::vector<std::vector<Communication>> communication_;  ///< by process: by begin and track
  std::vector<std::vector<Transfer>> tasks_;
};

}  // namespace megascope::pieces
