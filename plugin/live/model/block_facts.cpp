#include "plugin/live/model/block_facts.h"

#include "plugin/steps/live_tail.h"

#include <limits>

namespace megascope::live {
namespace {

std::vector<float> times_of_ranks(std::span<const std::byte> block, std::uint32_t ranks) {
  const std::span<const std::byte> tail = steps::tail_of(block);
  std::vector<float> times(kTimeColumns.size() * ranks, std::numeric_limits<float>::quiet_NaN());
  if (tail.empty()) return times;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const steps::RankTimes of_rank = steps::times_of(tail, rank);
    times[rank] = of_rank.step_ms;
    times[ranks + rank] = of_rank.mpi_ms;
    times[2 * ranks + rank] = of_rank.own_ms;
  }
  return times;
}

bool is_idle_on_all(std::span<const std::byte> block, std::uint32_t ranks) {
  const std::span<const std::byte> tail = steps::tail_of(block);
  bool is_announced = false;
  for (std::uint32_t rank = 0; rank < ranks && !tail.empty(); ++rank) {
    const steps::RankTimes of_rank = steps::times_of(tail, rank);
    if (of_rank.is_announced == 0) continue;
    is_announced = true;
    if ((of_rank.is_announced & steps::kIdle) == 0) return false;
  }
  return is_announced;
}

}  // namespace

std::optional<BlockFacts> facts_of(std::span<const std::byte> block, std::uint32_t ranks) {
  if (block.size() < sizeof(steps::StepHeader)) return std::nullopt;
  const steps::StepHeader header = steps::header_of(block);
  const bool is_whole = header.slots <= steps::kMaxSlots && header.used <= header.slots &&
                        header.tail_ranks <= steps::kMaxLiveRanks &&
                        block.size() >= steps::bytes_of_block(header.slots, header.tail_ranks);
  if (!is_whole || header.lowest_step > header.highest_step) return std::nullopt;
  BlockFacts facts;
  facts.times.step = header.highest_step;
  facts.times.begin_ms = header.begin_realtime_ns == 0
                             ? std::numeric_limits<double>::quiet_NaN()
                             : static_cast<double>(header.begin_realtime_ns) * 1e-6;
  facts.times.times = times_of_ranks(block, ranks);
  facts.is_idle = is_idle_on_all(block, ranks);
  facts.has_statistics = header.flags == 0 && header.lowest_step == header.highest_step &&
                         header.lowest_layout == header.highest_layout;
  facts.dropped = header.dropped + header.dropped_live;
  for (std::uint32_t i = 0; facts.has_statistics && i < header.used; ++i)
    facts.slots.push_back(steps::slot_of(block, i));
  return facts;
}

}  // namespace megascope::live
