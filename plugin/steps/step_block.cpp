#include "plugin/steps/step_block.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace megascope::steps {
namespace {

static_assert(std::is_trivially_copyable_v<StepHeader> && std::is_trivially_copyable_v<TensorSlot>);

// Blocks can have any alignment, because MPI may provide the memory.
template <class Part>
Part load(const std::byte* at) noexcept {
  Part part;
  std::memcpy(&part, at, sizeof part);
  return part;
}
template <class Part>
void store(const Part& part, std::byte* at) noexcept {
  std::memcpy(at, &part, sizeof part);
}

const std::byte* place_of(const std::byte* block, std::uint32_t index) noexcept {
  return block + sizeof(StepHeader) + index * sizeof(TensorSlot);
}
std::byte* place_of(std::byte* block, std::uint32_t index) noexcept {
  return block + sizeof(StepHeader) + index * sizeof(TensorSlot);
}
SlotOrder order_at(const std::byte* block, std::uint32_t index) noexcept {
  const std::byte* const at = place_of(block, index);
  return {load<std::uint32_t>(at + offsetof(TensorSlot, is_counted)) == 0,
          load<std::uint64_t>(at + offsetof(TensorSlot, key))};
}

TensorSlot merged(const TensorSlot& a, const TensorSlot& b) noexcept {
  if (a.origin != b.origin) return a.origin < b.origin ? a : b;
  // Merges in the order of owners, so that rounding does not depend on which rank merges.
  TensorSlot slot = a.owner <= b.owner ? a : b;
  const TensorSlot& other = a.owner <= b.owner ? b : a;
  slot.parts += other.parts;
  slot.wanted_parts = std::max(slot.wanted_parts, other.wanted_parts);
  slot.bad_rank = std::min(slot.bad_rank, other.bad_rank);
  slot.statistics.merge(other.statistics);
  return slot;
}

void merge_header(const StepHeader& theirs, StepHeader& mine) noexcept {
  mine.lowest_step = std::min(mine.lowest_step, theirs.lowest_step);
  mine.highest_step = std::max(mine.highest_step, theirs.highest_step);
  mine.lowest_next = std::min(mine.lowest_next, theirs.lowest_next);
  mine.highest_next = std::max(mine.highest_next, theirs.highest_next);
  mine.flags |= theirs.flags;
  mine.lowest_layout = std::min(mine.lowest_layout, theirs.lowest_layout);
  mine.highest_layout = std::max(mine.highest_layout, theirs.highest_layout);
  mine.place_sum += theirs.place_sum;
  mine.dropped += theirs.dropped;
  mine.dropped_live += theirs.dropped_live;
  mine.lowest_request = std::min(mine.lowest_request, theirs.lowest_request);
  mine.begin_realtime_ns = std::max(mine.begin_realtime_ns, theirs.begin_realtime_ns);
  mine.shortest_step_ns = std::min(mine.shortest_step_ns, theirs.shortest_step_ns);
  mine.longest_step_ns = std::max(mine.longest_step_ns, theirs.longest_step_ns);
  mine.max_overhead_ns = std::max(mine.max_overhead_ns, theirs.max_overhead_ns);
  mine.max_wait_ns = std::max(mine.max_wait_ns, theirs.max_wait_ns);
  if (theirs.word.is_announced != 0) mine.word = theirs.word;
}

/// How many entries of each list are among the first `space` entries of their union.
struct Shares {
  std::uint32_t theirs = 0;
  std::uint32_t mine = 0;
  std::uint32_t both = 0;
  std::uint32_t left_out = 0;  ///< dropped: tensors of the trace
  // dropped: tensors requested only by the live view
  std::uint32_t left_out_live = 0;
};
/// Number of entries from `first` on that belong to the trace. These are sorted first.
std::uint32_t counted_from(const std::byte* block, std::uint32_t first,
                           std::uint32_t count) noexcept {
  std::uint32_t at = first;
  while (at < count && !order_at(block, at).first) ++at;
  return at - first;
}
Shares shares_of(const std::byte* theirs, std::uint32_t their_count, const std::byte* mine,
                 std::uint32_t my_count, std::uint32_t space) noexcept {
  Shares shares;
  while (shares.both < space && (shares.theirs < their_count || shares.mine < my_count)) {
    const bool has_theirs = shares.theirs < their_count;
    const bool has_mine = shares.mine < my_count;
    const SlotOrder of_theirs = has_theirs ? order_at(theirs, shares.theirs) : SlotOrder();
    const SlotOrder of_mine = has_mine ? order_at(mine, shares.mine) : SlotOrder();
    if (has_theirs && (!has_mine || of_theirs <= of_mine)) ++shares.theirs;
    if (has_mine && (!has_theirs || of_mine <= of_theirs)) ++shares.mine;
    ++shares.both;
  }
  const std::uint32_t their_counted = counted_from(theirs, shares.theirs, their_count);
  const std::uint32_t my_counted = counted_from(mine, shares.mine, my_count);
  shares.left_out = std::max(their_counted, my_counted);
  shares.left_out_live = std::max(their_count - shares.theirs - their_counted,
                                  my_count - shares.mine - my_counted);
  return shares;
}

}  // namespace

void write_block(StepHeader header, std::span<const TensorSlot> tensors,
                 std::span<std::byte> block) noexcept {
  header.used = static_cast<std::uint32_t>(std::min<std::size_t>(header.slots, tensors.size()));
  for (const TensorSlot& slot : tensors.subspan(header.used))
    ++(slot.is_counted != 0 ? header.dropped : header.dropped_live);
  store(header, block.data());
  for (std::uint32_t i = 0; i < header.used; ++i) store(tensors[i], place_of(block.data(), i));
  clear_tail(tail_of(block));
}

void merge_blocks(const std::byte* theirs, std::byte* mine) noexcept {
  const StepHeader their_header = header_of({theirs, sizeof(StepHeader)});
  StepHeader header = header_of({mine, sizeof(StepHeader)});
  if (their_header.slots != header.slots ||
      std::max(their_header.used, header.used) > header.slots ||
      their_header.tail_ranks != header.tail_ranks)
    return;
  const Shares shares = shares_of(theirs, their_header.used, mine, header.used, header.slots);
  // Runs backwards: a write never overwrites an entry of `mine` that is still to be read.
  std::uint32_t left_theirs = shares.theirs;
  std::uint32_t left_mine = shares.mine;
  for (std::uint32_t i = shares.both; i-- > 0;) {
    const bool takes_theirs = left_theirs != 0 &&
                              (left_mine == 0 ||
                               order_at(theirs, left_theirs - 1) >= order_at(mine, left_mine - 1));
    const bool takes_mine = left_mine != 0 &&
                            (left_theirs == 0 ||
                             order_at(mine, left_mine - 1) >= order_at(theirs, left_theirs - 1));
    TensorSlot slot = takes_theirs ? load<TensorSlot>(place_of(theirs, left_theirs - 1))
                                   : load<TensorSlot>(place_of(mine, left_mine - 1));
    if (takes_theirs && takes_mine)
      slot = merged(slot, load<TensorSlot>(place_of(mine, left_mine - 1)));
    left_theirs -= takes_theirs ? 1 : 0;
    left_mine -= takes_mine ? 1 : 0;
    store(slot, place_of(mine, i));
  }
  const std::size_t tail = bytes_of_block(header.slots);
  const std::size_t tail_bytes = bytes_of_tail(header.tail_ranks);
  merge_tails({theirs + tail, tail_bytes}, {mine + tail, tail_bytes}, header.tail_ranks,
              their_header.word.is_announced != 0);
  merge_header(their_header, header);
  header.used = shares.both;
  header.dropped += shares.left_out;
  header.dropped_live += shares.left_out_live;
  store(header, mine);
}

StepHeader header_of(std::span<const std::byte> block) noexcept {
  return load<StepHeader>(block.data());
}

std::span<std::byte> tail_of(std::span<std::byte> block) noexcept {
  const StepHeader header = header_of(block);
  return block.size() < bytes_of_block(header.slots, header.tail_ranks)
             ? block.first(0)
             : block.subspan(bytes_of_block(header.slots), bytes_of_tail(header.tail_ranks));
}

std::span<const std::byte> tail_of(std::span<const std::byte> block) noexcept {
  const StepHeader header = header_of(block);
  return block.size() < bytes_of_block(header.slots, header.tail_ranks)
             ? block.first(0)
             : block.subspan(bytes_of_block(header.slots), bytes_of_tail(header.tail_ranks));
}

TensorSlot slot_of(std::span<const std::byte> block, std::uint32_t index) noexcept {
  return load<TensorSlot>(place_of(block.data(), index));
}

}  // namespace megascope::steps
