#include "exporters/otf2/rank_runs.h"

#include "core/base/hash.h"

#include <algorithm>

namespace megascope::otf2 {

std::uint64_t combined_ranks(std::uint64_t hash, const std::vector<RankRun>& runs) {
  for (const RankRun& run : runs) {
    for (std::int32_t i = 0; i < run.count; ++i) {
      hash = combined(hash, static_cast<std::uint32_t>(run.first + i * run.stride));
    }
  }
  return combined(hash, static_cast<std::uint64_t>(rank_count(runs)));
}

bool are_ranks(const std::vector<RankRun>& runs, std::int32_t world_size) {
  std::int64_t count = 0;
  for (const RankRun& run : runs) {
    const std::int64_t last = run.first + std::int64_t{run.stride} * (std::int64_t{run.count} - 1);
    if (run.count < 1 || run.first < 0 || run.first >= world_size || last < 0 || last >= world_size)
      return false;
    count += run.count;
  }
  return count <= world_size;
}

std::int32_t lowest_rank(const std::vector<RankRun>& runs) {
  std::int32_t lowest = INT32_MAX;
  for (const RankRun& run : runs)
    lowest = std::min({lowest, run.first, run.first + (run.count - 1) * run.stride});
  return lowest;
}

void put_runs(ByteWriter& to, const std::vector<RankRun>& runs) {
  to.put_u64(runs.size());
  for (const RankRun& run : runs) {
    to.put_i32(run.first);
    to.put_i32(run.stride);
    to.put_i32(run.count);
  }
}

std::vector<RankRun> get_runs(ByteReader& from) {
  std::vector<RankRun> runs(from.count());
  for (RankRun& run : runs) {
    run.first = from.i32();
    run.stride = from.i32();
    run.count = from.i32();
  }
  return runs;
}

}  // namespace megascope::otf2
