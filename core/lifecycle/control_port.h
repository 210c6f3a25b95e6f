#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// A periodic reduction over all ranks at step boundaries. Each rank contributes a block of bytes;
/// the merged block is delivered to all. The port supplies the payload (plugin/tensors);
/// StepControl (mpi_layer/own_communication/step_control.h) transports it.
/// Blocks are numbered from 0, one for each boundary. The decisions in block k take effect at
/// boundary k + 2 on all ranks. One thread at a time, except merge(). Nothing throws except
/// block_sizes(), if memory runs out.
class ControlPort {
 public:
  virtual ~ControlPort() = default;
  static constexpr std::size_t kMaxRankUpdateBytes = std::size_t{8} << 20;

  /// Called at a step boundary. Returns false if `step` does not increase; the boundary is then
  /// ignored.
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
  /// Delivers the merged block of all ranks. Each block once, in order, at the first boundary after
  /// its arrival.
  virtual void handle(std::span<const std::byte> merged) noexcept = 0;
  /// Delivers the same block again, two boundaries after its own: its decisions take effect.
  virtual void apply(std::span<const std::byte> merged) noexcept = 0;
  /// Returns true if this rank must stay in the exchange despite a timeout: its last blocks
  /// announced something that other ranks rely on.
  virtual bool has_promised() const noexcept = 0;
  /// Reports the time that a boundary took: measurement overhead, and the part of it spent waiting
  /// for other ranks.
  virtual void spend(std::uint64_t own_ns, std::uint64_t wait_ns) noexcept = 0;
  /// Reports the time that the thread spent in MPI calls since the previous boundary. Called before
  /// fill().
  virtual void spend_in_calls(std::uint64_t ns) noexcept = 0;
  /// A progress tick: called from time to time inside MPI calls and hooks if rank updates are used.
  /// Returns the time until the next tick, in ns.
  virtual std::uint64_t progress_tick() noexcept = 0;
  /// Returns this rank's next message to rank 0 (rank update), at a boundary or tick, after the
  /// previous one was sent: at most kMaxRankUpdateBytes; empty: none.
  virtual std::vector<std::byte> take_rank_update() noexcept = 0;
  /// On rank 0: delivers a rank update of any rank, including rank 0. Updates of one rank arrive in
  /// the order in which it sent them.
  virtual void receive(std::int32_t world_rank,
                       std::span<const std::byte> rank_update) noexcept = 0;
  /// On rank 0: delivers a rank update like receive(), but may move the bytes instead of copying
  /// them. `rank_update` is unspecified afterwards.
  virtual void receive_whole(std::int32_t world_rank,
                             std::vector<std::byte>&& rank_update) noexcept {
    receive(world_rank, rank_update);
  }
  /// From now on this rank contributes fill_absent() only and decides nothing. It still applies
  /// blocks that other ranks rely on. reason: for the user.
  virtual void stop(const char* reason) noexcept = 0;
};

/// How ranks communicate at step boundaries.
struct ControlPlan {
  ControlPort* port = nullptr;    ///< nullptr: they do not
  std::uint64_t settings = 0;     ///< a number that must be equal on all ranks
  bool has_rank_updates = false;  ///< take_rank_update() is called; equal on all ranks
  std::uint64_t
      timeout_ns = 0;  ///< timeout of a boundary that waits for the block that takes effect at it
};

}  // namespace megascope
