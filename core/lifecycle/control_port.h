#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// What all ranks tell each other when a step of the program begins: a block of bytes from each,
/// merged into one that all hear. Who has something to say is the port (plugin/tensors); who can
/// talk carries its blocks (mpi_layer/step_control.h). Blocks are numbered from 0, one a boundary;
/// what block k decides takes effect at boundary k + 2, on all ranks. One thread at a time, except
/// merge(); nothing throws but block_sizes(), for want of memory.
class ControlPort {
 public:
  virtual ~ControlPort() = default;
  static constexpr std::size_t kMostLetterBytes = std::size_t{8} << 20;

  /// A step begins. False: its number does not count up, and the boundary is none.
  virtual bool begin(std::int64_t step) noexcept = 0;
  /// All that block_bytes() may ever be, with so many ranks. Before all else.
  virtual std::vector<std::size_t> block_sizes(std::int32_t world_size) = 0;
  /// Of the next block; the same on all ranks that have obeyed the same blocks.
  virtual std::size_t block_bytes() const noexcept = 0;
  /// What this rank says. block: block_bytes(), any alignment.
  virtual void fill(std::span<std::byte> block) noexcept = 0;
  /// The same of a rank that has no such boundary.
  virtual void fill_absent(std::span<std::byte> block) const noexcept = 0;
  /// Merges `theirs` into `mine`, both of the same block. Commutative and associative; any thread,
  /// several at a time.
  virtual void merge(const std::byte* theirs, std::byte* mine) const noexcept = 0;
  /// What all ranks together said: of each block once, in order, as soon as a boundary finds it
  /// there.
  virtual void hear(std::span<const std::byte> merged) noexcept = 0;
  /// The same block again, two boundaries after its own: what it decides takes effect.
  virtual void obey(std::span<const std::byte> merged) noexcept = 0;
  /// True: with its last blocks this rank has said what others go by, and it is not to stop within
  /// the next ones for want of patience.
  virtual bool has_promised() const noexcept = 0;
  /// Time that a boundary took: all that is ours, and what of it was waiting for other ranks.
  virtual void spend(std::uint64_t own_ns, std::uint64_t wait_ns) noexcept = 0;
  /// Time that the thread spent in calls of MPI since the boundary before. Before fill().
  virtual void spend_in_calls(std::uint64_t ns) noexcept = 0;
  /// Now and then, inside a call of MPI or a hook, where letters are asked for. Returns when again,
  /// ns from now.
  virtual std::uint64_t pulse() noexcept = 0;
  /// What this rank writes to rank 0, at a boundary or a pulse, if what it wrote before has left:
  /// kMostLetterBytes at most; empty: nothing.
  virtual std::vector<std::byte> take_letter() noexcept = 0;
  /// On rank 0: what a rank wrote, its own too. In the order in which that rank wrote it.
  virtual void receive(std::int32_t world_rank, std::span<const std::byte> letter) noexcept = 0;
  /// The same of one that may be kept without a copy; what is left in it is not said.
  virtual void receive_whole(std::int32_t world_rank, std::vector<std::byte>&& letter) noexcept {
    receive(world_rank, letter);
  }
  /// From now on this rank says nothing but fill_absent(), and decides nothing; why. It still obeys
  /// what others need of it.
  virtual void stop(const char* reason) noexcept = 0;
};

/// How ranks are to talk at steps.
struct ControlPlan {
  ControlPort* port = nullptr;  ///< nullptr: not at all
  std::uint64_t settings = 0;   ///< a number that must be the same on all ranks
  bool has_letters = false;     ///< take_letter() is asked; the same on all ranks
  std::uint64_t
      patience_ns = 0;  ///< how long a boundary waits for the block that takes effect at it
};

}  // namespace megascope
