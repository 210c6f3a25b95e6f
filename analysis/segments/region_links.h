#pragma once

#include "analysis/detect/reduction.h"
#include "analysis/match/match.h"
#include "analysis/segments/region_run.h"

#include <cstdint>
#include <vector>

namespace megascope::segments {

/// Collects the point-to-point transfers between the processes of a run of regions, that is, a run
/// whose records are annotated or imported operations and not MPI calls. Pass the object to
/// analysis::match_run() once, then call take(). The transfer time is the duration of the send or
/// of the receive, whichever is shorter. The process with the shorter duration came last and did
/// not wait for the other. Each duration is measured with one clock, so times of different clocks
/// are not compared.
class LinkSink final : public analysis::MatchSink {
 public:
  /// step_numbers: the steps to collect, ascending; a link's steps are by index in it. Transfers
  /// between two steps, within one process, or that took no time are ignored. tables: outlives the
  /// object.
  LinkSink(const RegionRun& run, const analysis::MatchTables& tables,
           const std::vector<std::int64_t>& step_numbers);

  void begin(std::size_t task_count) override { tasks_.assign(task_count, {}); }
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override {}
  void add_message(std::size_t task, const analysis::MessageEnd& send,
                   const analysis::MessageEnd& receive) override;
  void add_collective(std::size_t, const analysis::Collective&) override {}
  void end_window() override {}

  /// Returns the links. Call once, after the pass. One link for each sender, receiver, size class
  /// and name of the operation (in Link::tag), in this order. from, to: indices in world_ranks().
  std::vector<detect::Link> take();

 private:
  /// A segment of communication (Segment::is_work is false), to find the operation of a message
  /// end.
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
  std::vector<std::vector<Communication>>
      communication_;  ///< by process: in order of begin and track
  std::vector<std::vector<Transfer>> tasks_;
};

}  // namespace megascope::segments
