#pragma once

#include "core/trace/run_files.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::cli {

/// A subset of the processes of a run. Time and world size are those of the whole run.
class RunShare final : public RecordSource {
 public:
  /// whole: must outlive this object. world_ranks: ascending; members of `whole`.
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

/// Divides items into `part_count` contiguous, non-empty parts of about equal weight. Returns the
/// first item of each part, ascending, starting with 0. 1 <= part_count <= number of items.
std::vector<std::size_t> divide(const std::vector<std::uint64_t>& weights, std::size_t part_count);

/// Returns how many processes share the work: `wanted`, or one for each core if `wanted` is 0, but
/// at most `rank_count`.
std::size_t member_count(int wanted, std::size_t rank_count);

/// Returns the processes that member number `member` of `members` handles. The members get about
/// equal sums of trace sizes. run: supplies the trace sizes. seen: the source from which the result
/// reads; it must outlive the result.
RunShare share_of(const trace::RunSource& run, const RecordSource& seen, std::size_t member,
                  std::size_t members);
inline RunShare share_of(const trace::RunSource& run, std::size_t member, std::size_t members) {
  return share_of(run, run, member, members);
}

/// Opens a run directory. Reports unreadable traces on standard error. Returns an error with advice
/// if there is no readable trace.
Status open_run(const std::string& directory, std::unique_ptr<trace::RunSource>& run);
Status open_run(const trace::OpenDirectory& directory, std::unique_ptr<trace::RunSource>& run);

}  // namespace megascope::cli
