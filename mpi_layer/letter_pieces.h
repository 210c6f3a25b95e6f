#pragma once

#include "core/lifecycle/control_port.h"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <span>

namespace megascope::mpi {

/// The messages that carry one letter, all under way at once. A large message that both sides have
/// to move on, where MPI has no single copy and no RDMA, takes a turn of both for every few
/// fragments: between ranks that come to MPI only where a step begins, dozens of steps. Of small
/// ones each takes two turns, and all the same two. One thread at a time.
class LetterPieces {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMost = ControlPort::kMostLetterBytes / kBytes;
  static constexpr int kTagOfRest = 0;  ///< the first one's is how many there are

  /// Begins to send `letter`, not empty, to rank 0; it stays where it is until all has left. False:
  /// MPI failed.
  bool send(std::span<const std::byte> letter, MPI_Comm comm) noexcept;
  /// Begins to receive the letter whose first message was matched. into: room_for() bytes, which
  /// stay. False: MPI failed.
  bool receive(MPI_Message& first, const MPI_Status& status, std::byte* into,
               MPI_Comm comm) noexcept;
  /// Bytes that the letter may have whose first message this is. 0: it is none of ours.
  static std::size_t room_for(const MPI_Status& first) noexcept;
  /// False: MPI failed.
  bool test(bool& is_done) noexcept;
  bool wait() noexcept;
  /// Of a letter that has come.
  std::size_t bytes() const { return bytes_; }

 private:
  std::array<MPI_Request, kMost> requests_{};
  std::size_t count_ = 0;
  std::size_t done_ = 0;
  std::size_t bytes_ = 0;
  bool is_received_ = false;
};

}  // namespace megascope::mpi
