#pragma once

#include "kernels/tensor_statistics.h"
#include "plugin/tensors/live_tail.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// What ranks tell each other at a step, as bytes of one program's processes on machines of one
/// kind: a header, and room for a number of tensors that is the same on all ranks.
namespace megascope::tensors {

/// The step that follows the last one.
inline constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();

/// Room for tensors in a block: a power of two in between.
inline constexpr std::uint32_t kLeastSlots = 64;
inline constexpr std::uint32_t kFirstSlots = 1024;
inline constexpr std::uint32_t kMostSlots = 4096;

/// Why the statistics of a step are not to be used, as bits of StepHeader::flags.
inline constexpr std::uint64_t kSpoiled = 1;  ///< a rank began a step that does not count up
inline constexpr std::uint64_t
    kBadPlaces = 2;  ///< the groups that a rank told are not of the world's size
inline constexpr std::uint64_t kAbsent = 4;  ///< a rank has no such step

/// What rank 0 decides. Stands for itself: a later one says all again.
struct ControlWord {
  std::uint32_t is_said = 0;          ///< 0 from other ranks
  std::uint32_t slots = kFirstSlots;  ///< room for tensors from then on
  std::uint64_t capture_number = 0;   ///< when it grows …
  std::uint64_t
      capture_count = 0;  ///< … so many steps are recorded from then on, whatever was chosen
  std::uint64_t lost_number = 0;   ///< when it grows, letters were lost, and what was in them is
                                   ///< told again (Capture::tell_again) …
  std::uint32_t first_teller = 0;  ///< … by ranks from this world rank …
  std::uint32_t last_teller = 0;   ///< … to this:
  std::int64_t counters_from = kNoStep;  ///< values of counters from this step on, and
  std::uint32_t has_lost_names = 0;      ///< 1: names, and what else is told once
  std::uint32_t reserved = 0;
};

/// Of one rank, and merged. Times of the boundary before and of the step that follows it.
struct StepHeader {
  std::uint32_t slots = 0;       ///< room in the block; equal on all ranks
  std::uint32_t used = 0;        ///< slots that hold a tensor; ascending order_of()
  std::uint32_t tail_ranks = 0;  ///< rows behind the slots (live_tail.h); equal on all ranks
  std::uint32_t reserved = 0;
  std::int64_t begin_realtime_ns = 0;  ///< when the step began that the rest is of, where rank 0
                                       ///< serves the live view
  std::int64_t lowest_step = std::numeric_limits<
      std::int64_t>::max();  ///< that the statistics are of; equal if ranks agree
  std::int64_t highest_step = std::numeric_limits<std::int64_t>::min();
  std::int64_t
      lowest_next = std::numeric_limits<std::int64_t>::max();  ///< and the step that follows it
  std::int64_t highest_next = std::numeric_limits<std::int64_t>::min();
  std::uint64_t flags = 0;
  std::uint64_t lowest_layout = std::numeric_limits<
      std::uint64_t>::max();  ///< hash of the groups' names and sizes; as the steps
  std::uint64_t highest_layout = 0;
  std::uint64_t place_sum = 0;  ///< of a hash of each rank's place: tells whether each is held once
  std::uint64_t dropped = 0;    ///< tensors of the trace for which there was no room; where several
                                ///< ranks' were, perhaps more than once
  std::uint64_t dropped_live = 0;  ///< the same of those that only the live view asked for
  std::uint64_t lowest_request = std::numeric_limits<
      std::uint64_t>::max();  ///< the last TailRequest::number that all ranks have
  std::uint64_t shortest_step_ns = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t longest_step_ns = 0;
  std::uint64_t most_own_ns = 0;   ///< of one rank: statistics and talking
  std::uint64_t most_wait_ns = 0;  ///< of it waiting for other ranks
  ControlWord word;
};

/// The statistics of one tensor. Where copies of it are told (origin), those of one copy.
struct TensorSlot {
  std::uint64_t key = 0;           ///< of what is merged
  std::uint32_t origin = 0;        ///< which copy; the lowest counts
  std::uint32_t owner = 0;         ///< lowest world rank that holds a part of the copy
  std::uint32_t parts = 0;         ///< ranks whose parts are in
  std::uint32_t wanted_parts = 0;  ///< ranks that should have one
  std::uint32_t kind = 0;          ///< TensorKind
  std::uint32_t is_counted = 0;    ///< 1: the trace has it; 0: only the live view asked
  std::uint32_t bad_rank = std::numeric_limits<std::uint32_t>::
      max();  ///< lowest world rank with a NaN or infinite element; the greatest number: none
  std::uint32_t reserved = 0;
  kernels::TensorStatistics statistics;
};

/// Slots lie in this order: what the trace has comes first, and is left out last.
using SlotOrder = std::pair<bool, std::uint64_t>;
constexpr SlotOrder order_of(const TensorSlot& slot) { return {slot.is_counted == 0, slot.key}; }

constexpr std::size_t bytes_of_block(std::uint32_t slots, std::uint32_t tail_ranks = 0) {
  return sizeof(StepHeader) + slots * sizeof(TensorSlot) + bytes_of_tail(tail_ranks);
}

/// Writes a block. tensors: ascending order_of(), each key once; what there is no room for is left
/// out and counted in header.dropped or dropped_live. The tail, if there is one, is cleared. block:
/// bytes_of_block(header.slots, header.tail_ranks), any alignment.
void write_block(StepHeader header, std::span<const TensorSlot> tensors,
                 std::span<std::byte> block) noexcept;

/// Blocks with the same room for tensors: of `theirs` and `mine` the union, in `mine`. Where it is
/// too large, the tensors with the greatest order_of() are left out. Commutative and associative
/// but for the rounding of sums, and for `dropped`. No allocation; any thread. A block that is none
/// is passed over.
void merge_blocks(const std::byte* theirs, std::byte* mine) noexcept;

StepHeader header_of(std::span<const std::byte> block) noexcept;
/// The tail of a block that is as long as its header says; else empty.
std::span<std::byte> tail_of(std::span<std::byte> block) noexcept;
std::span<const std::byte> tail_of(std::span<const std::byte> block) noexcept;
/// The tensors of a block of header_of().
TensorSlot slot_of(std::span<const std::byte> block, std::uint32_t index) noexcept;

}  // namespace megascope::tensors
