#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// The payload of a periodic reduction over all ranks at step boundaries (plugin/steps). Each rank
/// contributes a block of bytes; the merged block is delivered to all. StepControl
/// (mpi_layer/own_communication/step_control.h) transports the blocks.
/// Blocks are numbered from 0, one for each boundary. The decisions in block k take effect at
/// boundary k + 2 on all ranks. One thread at a time, except merge(). Nothing throws except
/// block_sizes(), if memory runs out.
class StepReduction {
 public:
  virtual ~StepReduction() = default;

  /// Called at a step boundary. Returns false if `step` is not greater than the previous step; the
  /// boundary is then ignored.
  virtual bool begin(std::int64_t step) noexcept = 0;
  /// Returns all sizes that block_bytes() may ever return for this number of ranks. Called before
  /// the other functions.
  virtual std::vector<std::size_t> block_sizes(std::int32_t world_size) = 0;
  /// Returns the size of the next block. Equal on all ranks that have applied the same blocks.
  virtual std::size_t block_bytes() const noexcept = 0;
  /// Writes this rank's contribution. block: block_bytes(), any alignment.
  virtual void fill(std::span<std::byte> block) noexcept = 0;
  /// Writes the contribution of a rank that does not reach this boundary. block: as for fill().
  virtual void fill_absent(std::span<std::byte> block) const noexcept = 0;
  /// Merges `theirs` into `mine`, both of the same block. Commutative and associative. Any thread,
  /// concurrently.
  virtual void merge(const std::byte* theirs, std::byte* mine) const noexcept = 0;
  /// Delivers the merged block of all ranks. Called once for each block, in order, at the first
  /// step boundary after the block has arrived.
  virtual void handle(std::span<const std::byte> merged) noexcept = 0;
  /// Puts the decisions of a block into effect. Called for block k at boundary k + 2, with the
  /// bytes that handle() received.
  virtual void apply(std::span<const std::byte> merged) noexcept = 0;
  /// Returns whether this rank has acknowledged a decision that has not taken effect yet. The other
  /// ranks rely on the acknowledgement, so this rank stays in the exchange despite a timeout.
  virtual bool has_acknowledged() const noexcept = 0;
  /// Adds the time of one step boundary. own_ns: all of it, which is measurement overhead. wait_ns:
  /// the part of own_ns in which the thread waited for other ranks.
  virtual void add_overhead(std::uint64_t own_ns, std::uint64_t wait_ns) noexcept = 0;
  /// Adds time that the thread spent in MPI calls since the previous boundary or progress tick.
  /// Called before fill() and before RankMailbox::progress_tick().
  virtual void add_call_time(std::uint64_t ns) noexcept = 0;
  /// Ends the participation of this rank: from now on it contributes only the block of
  /// fill_absent() and decides nothing. It still applies blocks that other ranks rely on. reason:
  /// for the user.
  virtual void stop(const char* reason) noexcept = 0;
};

}  // namespace megascope
