#pragma once

#include "core/lifecycle/rank_mailbox.h"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <span>

namespace megascope::mpi {

/// The messages that carry one rank update (the data that a rank sends to rank 0 at one time,
/// RankMailbox), all sent at once. In MPI libraries without single copy or RDMA, both sides must
/// progress a large message for every few fragments, which takes dozens of steps between ranks that
/// enter MPI only at step boundaries. Small messages need two progress calls, and the same two
/// calls serve all of them. One thread at a time.
class RankUpdateMessages {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMax = RankMailbox::kMaxRankUpdateBytes / kBytes;
  static constexpr int kTagOfRest = 0;  ///< the tag of the first message is the number of messages

  /// Starts sending `rank_update`, which is not empty, to rank 0. It must stay valid until all
  /// messages are sent. Returns false if MPI failed.
  bool send(std::span<const std::byte> rank_update, MPI_Comm comm) noexcept;
  /// Starts receiving the rank update whose first message was matched. into: space_for() bytes,
  /// which must stay valid. Returns false if MPI failed.
  bool receive(MPI_Message& first, const MPI_Status& status, std::byte* into,
               MPI_Comm comm) noexcept;
  /// Returns the largest size that the rank update with this first message can have; 0 if the
  /// message is invalid.
  static std::size_t space_for(const MPI_Status& first) noexcept;
  /// Progresses the messages. is_done: all are complete. Returns false if MPI failed.
  bool test(bool& is_done) noexcept;
  bool wait() noexcept;
  /// Returns the size of a received rank update.
  std::size_t bytes() const { return bytes_; }

 private:
  std::array<MPI_Request, kMax> requests_{};
  std::size_t count_ = 0;
  std::size_t done_ = 0;
  std::size_t bytes_ = 0;
  bool is_received_ = false;
};

}  // namespace megascope::mpi
