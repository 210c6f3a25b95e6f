#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// Messages from every rank to rank 0 (rank updates), independent of step boundaries. The mailbox
/// (implemented in plugin/steps) makes and reads the messages. StepMail
/// (mpi_layer/own_communication/step_mail.h) transports them; each rank has at most one message in
/// transit. One thread at a time. Nothing throws.
class RankMailbox {
 public:
  virtual ~RankMailbox() = default;
  static constexpr std::size_t kMaxRankUpdateBytes = std::size_t{8} << 20;

  /// A progress tick: called from time to time inside MPI calls and hooks. Returns the time until
  /// the next tick, in ns.
  virtual std::uint64_t progress_tick() noexcept = 0;
  /// Returns this rank's next rank update, of at most kMaxRankUpdateBytes; empty if there is none.
  /// Called at a step boundary or progress tick when the previous rank update has been sent.
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
};

}  // namespace megascope
