#pragma once

#include "core/lifecycle/control_port.h"
#include "mpi_layer/letter_pieces.h"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace megascope::mpi {

/// Letters from all ranks to rank 0 (ControlPort::take_letter), one at a time from each, by
/// nonblocking messages (LetterPieces) that go on at boundaries. Nobody waits but in receive_all().
/// One thread at a time. Not to be destroyed while MPI may read or write a letter.
class StepMail {
 public:
  /// comm: of ours, that no other such message goes over; null handle: there is only this rank.
  /// Both outlive the object.
  StepMail(ControlPort& port, MPI_Comm comm, bool is_alone);

  /// Sends what there is to send, and on rank 0 takes what has come. False: MPI failed.
  bool progress() noexcept;
  /// Once: begins to send what is left. False: MPI failed.
  bool send_last() noexcept;
  std::uint64_t sent_count() const { return sent_count_; }
  /// Behind send_last() of all: rank 0 takes all that is on its way. sent_count: of all ranks
  /// together. False: MPI failed, or there is no memory to receive into.
  bool receive_all(std::uint64_t sent_count) noexcept;
  /// Once rank 0 has taken all: what was sent is done with. Where it has not, nobody is to wait for
  /// that. False: MPI failed.
  bool see_off() noexcept { return pieces_.wait() && last_pieces_.wait(); }

 private:
  struct Arrival {
    std::vector<std::byte> bytes;
    LetterPieces pieces;
    std::int32_t from = 0;
  };
  /// The one that is received into where there is no memory for another: what is matched must be
  /// received.
  struct Spare {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t used = 0;  ///< 0: it is free
    LetterPieces pieces;
    std::int32_t from = 0;
  };
  bool send() noexcept;
  bool start(const std::vector<std::byte>& letter, LetterPieces& pieces) noexcept;
  bool receive() noexcept;
  bool accept(bool& has_message) noexcept;
  Arrival* make_arrival(std::size_t bytes) noexcept;
  bool deliver_spare() noexcept;
  bool deliver() noexcept;
  bool awaits_earlier_of(const Arrival& arrival) const noexcept;

  ControlPort& port_;
  MPI_Comm comm_;
  bool is_alone_;
  int rank_ = 0;
  std::vector<std::byte> letter_;  ///< on its way
  LetterPieces pieces_;
  std::vector<std::byte> last_letter_;  ///< behind that, at the end
  LetterPieces last_pieces_;
  std::uint64_t sent_count_ = 0;
  std::list<Arrival> arrivals_;  ///< being received, in order of their matching
  std::size_t arriving_bytes_ = 0;
  Spare spare_;
  std::uint64_t received_count_ = 0;
};

}  // namespace megascope::mpi
