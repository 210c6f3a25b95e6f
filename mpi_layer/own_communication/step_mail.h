#pragma once

#include "core/lifecycle/rank_mailbox.h"
#include "mpi_layer/own_communication/rank_update_messages.h"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace megascope::mpi {

/// Sends rank updates of all ranks to rank 0 (RankMailbox::take_rank_update), one at a time from
/// each rank, by nonblocking messages (RankUpdateMessages) that progress at boundaries. Only
/// receive_all() waits. One thread at a time. Must not be destroyed while MPI may access a rank
/// update.
class StepMail {
 public:
  /// comm: a communicator of the library on which no other component receives messages from any
  /// source; not used if is_standalone. mailbox and comm must outlive the object.
  StepMail(RankMailbox& mailbox, MPI_Comm comm, bool is_standalone);

  /// Sends the next rank update if the previous one was sent. On rank 0, delivers rank updates that
  /// have arrived. Returns false if MPI failed.
  bool progress() noexcept;
  /// Starts to send this rank's last rank update. Call once. Returns false if MPI failed.
  bool send_last() noexcept;
  std::uint64_t sent_count() const { return sent_count_; }
  /// On rank 0: receives all rank updates that were sent. Call after all ranks have called
  /// send_last(). sent_count: sum of sent_count() over all ranks. Returns false if MPI failed or
  /// memory ran out.
  bool receive_all(std::uint64_t sent_count) noexcept;
  /// Completes the sends once rank 0 has received everything; must not be called otherwise. Returns
  /// false if MPI failed.
  bool wait_all_sent() noexcept { return messages_.wait() && last_messages_.wait(); }

 private:
  struct Arrival {
    std::vector<std::byte> bytes;
    RankUpdateMessages messages;
    std::int32_t from = 0;
  };
  /// Receive buffer for a rank update for which no memory is left. It is needed because a matched
  /// message must be received.
  struct Spare {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t used = 0;  ///< 0: free
    RankUpdateMessages messages;
    std::int32_t from = 0;
  };
  bool send() noexcept;
  bool start(const std::vector<std::byte>& rank_update, RankUpdateMessages& messages) noexcept;
  bool receive() noexcept;
  bool accept(bool& has_message) noexcept;
  Arrival* make_arrival(std::size_t bytes) noexcept;
  bool deliver_spare() noexcept;
  bool deliver() noexcept;
  bool awaits_earlier_of(const Arrival& arrival) const noexcept;

  RankMailbox& mailbox_;
  MPI_Comm comm_;
  bool is_standalone_;
  int rank_ = 0;
  std::vector<std::byte> rank_update_;  ///< being sent
  RankUpdateMessages messages_;
  std::vector<std::byte> last_rank_update_;  ///< sent after `rank_update_`, at the end
  RankUpdateMessages last_messages_;
  std::uint64_t sent_count_ = 0;
  std::list<Arrival> arrivals_;  ///< being received, in the order of matching
  std::size_t arriving_bytes_ = 0;
  Spare spare_;
  std::uint64_t received_count_ = 0;
};

}  // namespace megascope::mpi
