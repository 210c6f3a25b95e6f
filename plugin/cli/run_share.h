#pragma once

#include "core/trace/run_folder.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::cli {

/// Some processes of a run; time and world are those of the whole run.
class RunShare final : public RecordSource {
 public:
  /// whole: outlives the object. world_ranks: ascending, of `whole`.
  RunShare(const RecordSource& whole, std::vector<std::int32_t> world_ranks)
      : whole_(whole), ranks_(std::move(world_ranks)) {}

  std::int32_t world_size() const override { return whole_.world_size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t world_rank) const override {
    return whole_.process(world_rank);
  }
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override {
    return whole_.calls(world_rank, location);
  }
  std::unique_ptr<PointStream> points(std::int32_t world_rank, LocationId location) const override {
    return whole_.points(world_rank, location);
  }
  std::int64_t start_realtime_ns() const override { return whole_.start_realtime_ns(); }
  std::uint64_t end_ns() const override { return whole_.end_ns(); }

 private:
  const RecordSource& whole_;
  std::vector<std::int32_t> ranks_;
};

/// Divides items of the given weights into `part_count` runs of about equal weight, none empty.
/// Result: the first item of each part, ascending, beginning with 0. part_count: 1 … number of
/// items.
std::vector<std::size_t> divide(const std::vector<std::uint64_t>& weights, std::size_t part_count);

/// How many processes to use: `wanted` (0: one a core), at most one a rank.
std::size_t member_count(int wanted, std::size_t rank_count);

/// The share of one of `members`, by size of the traces. seen: the run as it is to be read;
/// outlives the share.
RunShare share_of(const trace::RunSource& run, const RecordSource& seen, std::size_t member,
                  std::size_t members);
inline RunShare share_of(const trace::RunSource& run, std::size_t member, std::size_t members) {
  return share_of(run, run, member, members);
}

/// Opens a run folder for a command. Unreadable traces are named on stderr; nothing readable is an
/// error with what to do.
Status open_run(const std::string& folder, std::unique_ptr<trace::RunSource>& run);
Status open_run(const trace::OpenDirectory& folder, std::unique_ptr<trace::RunSource>& run);

}  // namespace megascope::cli
