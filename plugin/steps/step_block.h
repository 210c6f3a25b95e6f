#pragma once

#include "kernels/tensor_statistics.h"
#include "plugin/steps/live_tail.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// The block that each rank contributes at a step boundary: a header, tensor slots, and optionally
/// a tail (live_tail.h). The number of slots is the same on all ranks. Blocks have memory layout,
/// so they are exchanged only between processes of one program on machines of one kind.
namespace megascope::steps {

/// No step. StepHeader::lowest_next has this value if no step begins after the block was filled.
inline constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();

/// Number of tensor slots of a block: a power of two from kMinSlots to kMaxSlots. The first blocks
/// have kFirstSlots if tensors may be shown, otherwise kMinSlots.
inline constexpr std::uint32_t kMinSlots = 64;
inline constexpr std::uint32_t kFirstSlots = 1024;
inline constexpr std::uint32_t kMaxSlots = 4096;

/// Bits of StepHeader::flags: why the statistics of a step cannot be used.
/// A rank began a step whose number does not increase.
inline constexpr std::uint64_t kSpoiled = 1;
/// The annotated group sizes of a rank do not multiply to the world size.
inline constexpr std::uint64_t kBadPlaces = 2;
/// A rank filled the block by StepReduction::fill_absent(), because it has no such step, has
/// stopped, or ran out of memory.
inline constexpr std::uint64_t kAbsent = 4;

/// Decisions of rank 0. Each control word repeats the decisions of the earlier ones that are still
/// valid.
struct ControlWord {
  std::uint32_t is_announced = 0;     ///< 1 from rank 0, 0 from other ranks
  std::uint32_t slots = kFirstSlots;  ///< tensor slots of later blocks
  std::uint64_t capture_number = 0;   ///< increments when all ranks must record capture_count steps
  /// Number of steps to record from the current one on, even if the user did not select them.
  std::uint64_t capture_count = 0;
  /// Increments when rank updates were dropped. The ranks from first_rank to last_rank then send
  /// their contents again (Capture::report_again).
  std::uint64_t lost_number = 0;
  std::uint32_t first_rank = 0;  ///< lowest world rank that sends again
  std::uint32_t last_rank = 0;   ///< highest world rank that sends again
  /// First step whose counter values are sent again; kNoStep: none are sent again.
  std::int64_t counters_from = kNoStep;
  /// 1: names and everything else that is normally sent once is sent again, too.
  std::uint32_t has_lost_names = 0;
  std::uint32_t reserved = 0;
};

/// Header of a block, either of one rank or merged. It describes the step that ends at the
/// boundary. Step durations are those of this step. Overhead and waiting time are those since the
/// previous block was filled.
struct StepHeader {
  std::uint32_t slots = 0;       ///< slots in the block; equal on all ranks
  std::uint32_t used = 0;        ///< slots that hold a tensor, sorted by order_of()
  std::uint32_t tail_ranks = 0;  ///< rows of the tail; equal on all ranks
  std::uint32_t reserved = 0;
  /// Wall-clock time when the step began, in ns since the epoch; 0 if there is no live view.
  std::int64_t begin_realtime_ns = 0;
  /// Lowest number, over the ranks, of the step that ends. Equals highest_step if the ranks agree.
  std::int64_t lowest_step = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest_step = std::numeric_limits<std::int64_t>::min();
  /// Lowest number, over the ranks, of the step that begins. Equals highest_next if the ranks
  /// agree.
  std::int64_t lowest_next = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest_next = std::numeric_limits<std::int64_t>::min();
  std::uint64_t flags = 0;
  /// Lowest Layout::hash() over the ranks. Equals highest_layout if the ranks agree.
  std::uint64_t lowest_layout = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t highest_layout = 0;
  /// Sum of hash_of_place() over ranks. Equals sum_of_places() if each grid index belongs to
  /// exactly one rank.
  std::uint64_t place_sum = 0;
  /// Number of tensors recorded in the trace that had no slot. One tensor may be counted for
  /// several ranks.
  std::uint64_t dropped = 0;
  /// Number of tensors that had no slot and that only the live view requested.
  std::uint64_t dropped_live = 0;
  /// The highest TailRequest::number that every rank has received.
  std::uint64_t lowest_request = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t shortest_step_ns = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t longest_step_ns = 0;
  std::uint64_t max_overhead_ns = 0;  ///< maximum over ranks: time for statistics and exchange
  std::uint64_t max_wait_ns = 0;  ///< maximum over ranks: part of the overhead in which the rank
                                  ///< waited for others
  ControlWord word;
};

/// Statistics of one tensor. If several copies exist, the slot has the statistics of the copy with
/// the lowest origin.
struct TensorSlot {
  std::uint64_t key = 0;           ///< Shard::key
  std::uint32_t origin = 0;        ///< Shard::origin; the lowest is kept when merging
  std::uint32_t owner = 0;         ///< lowest world rank that holds a part of the copy
  std::uint32_t parts = 0;         ///< ranks whose parts are merged
  std::uint32_t wanted_parts = 0;  ///< ranks that hold a part
  std::uint32_t kind = 0;          ///< TensorKind
  std::uint32_t is_counted = 0;    ///< 1: recorded in the trace; 0: requested only by the live view
  /// Lowest world rank that holds a NaN or infinite element; max() if no rank does.
  std::uint32_t bad_rank = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t reserved = 0;
  kernels::TensorStatistics statistics;
};

/// Order of slots in a block: tensors of the trace first. If slots are short, the last ones are
/// dropped.
using SlotOrder = std::pair<bool, std::uint64_t>;
constexpr SlotOrder order_of(const TensorSlot& slot) { return {slot.is_counted == 0, slot.key}; }

/// Size of a block in bytes.
constexpr std::size_t bytes_of_block(std::uint32_t slots, std::uint32_t tail_ranks = 0) {
  return sizeof(StepHeader) + slots * sizeof(TensorSlot) + bytes_of_tail(tail_ranks);
}

/// Writes a block. tensors: sorted by order_of(), each key once. Tensors without a slot are counted
/// in header.dropped or dropped_live. Clears the tail. block: bytes_of_block(header.slots,
/// header.tail_ranks) bytes, any alignment.
void write_block(StepHeader header, std::span<const TensorSlot> tensors,
                 std::span<std::byte> block) noexcept;

/// Merges `theirs` into `mine`, which then has the tensors of both blocks. If these are more than
/// the number of slots, the tensors with the greatest order_of() are dropped. Ignores `theirs` if
/// the two blocks differ in slots or tail, or are malformed. Commutative and associative, except
/// for rounding of sums and for the dropped counts. No allocation; any thread, on different `mine`.
void merge_blocks(const std::byte* theirs, std::byte* mine) noexcept;

/// Header of a block; block.size() >= sizeof(StepHeader).
StepHeader header_of(std::span<const std::byte> block) noexcept;
/// The tail of a block; empty if the block is shorter than its header says.
std::span<std::byte> tail_of(std::span<std::byte> block) noexcept;
std::span<const std::byte> tail_of(std::span<const std::byte> block) noexcept;
/// Slot `index` < header.used of a block.
TensorSlot slot_of(std::span<const std::byte> block, std::uint32_t index) noexcept;

}  // namespace megascope::steps
