#include "mpi_layer/own_communication/step_mail.h"

#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"
#include "mpi_layer/table/fn.h"

#include <algorithm>
#include <new>
#include <sched.h>
#include <utility>

namespace megascope::mpi {
namespace {

constexpr std::size_t kMaxArrivals = 64;
constexpr std::size_t kMaxArrivingBytes = std::size_t{64} << 20;

}  // namespace

StepMail::StepMail(RankMailbox& mailbox, MPI_Comm comm, bool is_standalone)
    : mailbox_(mailbox), comm_(comm), is_standalone_(is_standalone) {
  if (is_standalone) return;
  pmpi<Fn::Comm_rank>()(comm, &rank_);
  if (rank_ == 0)
    spare_.bytes.reset(
        new (std::nothrow)
            std::byte[RankMailbox::kMaxRankUpdateBytes]);  // untouched pages take no memory
}

bool StepMail::progress() noexcept { return rank_ == 0 ? receive() : send(); }

bool StepMail::send() noexcept {
  if (!rank_update_.empty()) {
    bool is_done = false;
    if (!messages_.test(is_done)) return false;
    if (!is_done) return true;  // the next one waits, and grows
  }
  rank_update_ = mailbox_.take_rank_update();
  return start(rank_update_, messages_);
}

/// Counts a rank update once it is being sent: rank 0 waits for no other.
bool StepMail::start(const std::vector<std::byte>& rank_update,
                     RankUpdateMessages& messages) noexcept {
  if (rank_update.empty()) return true;
  if (!messages.send(rank_update, comm_)) return false;
  ++sent_count_;
  return true;
}

bool StepMail::receive() noexcept {
  std::vector<std::byte> own = mailbox_.take_rank_update();
  if (!own.empty()) mailbox_.receive_whole(0, std::move(own));
  if (is_standalone_) return true;
  for (bool has_message = true; has_message && spare_.used == 0 &&
                                arrivals_.size() < kMaxArrivals &&
                                arriving_bytes_ < kMaxArrivingBytes;) {
    if (!accept(has_message)) return false;
  }
  return deliver();
}

/// Starts to receive the next rank update, if there is one.
bool StepMail::accept(bool& has_message) noexcept {
  MPI_Message message{};
  MPI_Status status{};
  int is_there = 0;
  has_message = false;
  if (pmpi<Fn::Improbe>()(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &is_there, &message, &status) !=
      MPI_SUCCESS)
    return false;
  if (is_there == 0) return true;
  const std::size_t bytes = RankUpdateMessages::space_for(status);
  if (bytes == 0) return false;
  has_message = true;
  if (Arrival* const arrival = make_arrival(bytes)) {
    arrival->from = status.MPI_SOURCE;
    return arrival->messages.receive(message, status, arrival->bytes.data(), comm_);
  }
  if (spare_.bytes == nullptr) return false;
  spare_.used = bytes;
  spare_.from = status.MPI_SOURCE;
  return spare_.messages.receive(message, status, spare_.bytes.get(), comm_);
}

/// nullptr: memory ran out.
StepMail::Arrival* StepMail::make_arrival(std::size_t bytes) noexcept {
  try {
    Arrival arrival;
    arrival.bytes.resize(bytes);
    arrivals_.push_back(std::move(arrival));
    arriving_bytes_ += bytes;
    return &arrivals_.back();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// Delivers the spare buffer, matched after all arrivals.
bool StepMail::deliver_spare() noexcept {
  bool is_done = false;
  if (spare_.used == 0 ||
      std::ranges::find(arrivals_, spare_.from, &Arrival::from) != arrivals_.end())
    return true;
  if (!spare_.messages.test(is_done)) return false;
  if (!is_done) return true;
  ++received_count_;
  mailbox_.receive(spare_.from, {spare_.bytes.get(), spare_.messages.bytes()});
  spare_.used = 0;
  return true;
}

/// Returns whether an earlier update of the rank is still arriving: its last one is sent before the
/// previous one has arrived, and may overtake it.
bool StepMail::awaits_earlier_of(const Arrival& arrival) const noexcept {
  return &*std::ranges::find(arrivals_, arrival.from, &Arrival::from) != &arrival;
}

/// Delivers what has arrived, in order for each rank.
bool StepMail::deliver() noexcept {
  for (auto arrival = arrivals_.begin(); arrival != arrivals_.end();) {
    bool is_done = false;
    if (!arrival->messages.test(is_done)) return false;
    if (!is_done || awaits_earlier_of(*arrival)) {
      ++arrival;
      continue;
    }
    ++received_count_;
    arriving_bytes_ -= arrival->bytes.size();
    arrival->bytes.resize(arrival->messages.bytes());
    mailbox_.receive_whole(arrival->from, std::move(arrival->bytes));
    arrival = arrivals_.erase(arrival);
  }
  return deliver_spare();
}

bool StepMail::send_last() noexcept {
  if (rank_ == 0) return true;
  last_rank_update_ = mailbox_.take_rank_update();
  return start(last_rank_update_, last_messages_);
}

bool StepMail::receive_all(std::uint64_t sent_count) noexcept {
  if (rank_ != 0) return true;
  for (;;) {
    if (!receive()) return false;
    if (received_count_ >= sent_count) return true;
    sched_yield();
  }
}

}  // namespace megascope::mpi
