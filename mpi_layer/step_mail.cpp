#include "mpi_layer/step_mail.h"

#include <sched.h>

#include <new>
#include <utility>

#include "mpi_layer/abi.h"
#include "mpi_layer/fn.h"
#include "mpi_layer/twins.h"

namespace megascope::mpi {
namespace {

constexpr int kTag = 1;
constexpr std::size_t kMostArrivals = 64;
constexpr std::size_t kMostArrivingBytes = std::size_t{64} << 20;

}  // namespace

StepMail::StepMail(ControlPort& port, MPI_Comm comm, bool is_alone)
    : port_(port), comm_(comm), is_alone_(is_alone), request_(g_handles.request_null), last_request_(g_handles.request_null) {
  if (is_alone) return;
  twin<Fn::Comm_rank>()(comm, &rank_);
  twin<Fn::Comm_size>()(comm, &size_);
  if (rank_ == 0) spare_.bytes.reset(new (std::nothrow) std::byte[ControlPort::kMostLetterBytes]);  // pages of which none is touched
}

bool StepMail::progress() noexcept { return rank_ == 0 ? receive() : send(); }

bool StepMail::send() noexcept {
  if (!letter_.empty()) {
    int is_done = 0;
    if (twin<Fn::Test>()(&request_, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (is_done == 0) return true;  // the next one waits, and grows
  }
  letter_ = port_.take_letter();
  return start(letter_, request_);
}

/// Counted once it is on its way: rank 0 waits for no other.
bool StepMail::start(std::vector<std::byte>& letter, MPI_Request& request) noexcept {
  if (letter.empty()) return true;
  if (twin<Fn::Isend>()(letter.data(), static_cast<int>(letter.size()), g_handles.byte, 0, kTag, comm_, &request) != MPI_SUCCESS) return false;
  ++sent_count_;
  return true;
}

bool StepMail::receive() noexcept {
  const std::vector<std::byte> own = port_.take_letter();
  if (!own.empty()) port_.receive(0, own);
  if (is_alone_) return true;
  for (bool has_message = true; has_message && spare_.used == 0 && arrivals_.size() < kMostArrivals && arriving_bytes_ < kMostArrivingBytes;) {
    if (!accept(has_message)) return false;
  }
  return deliver();
}

/// Begins to receive the next letter, if there is one.
bool StepMail::accept(bool& has_message) noexcept {
  MPI_Message message{};
  MPI_Status status{};
  int is_there = 0;
  has_message = false;
  if (twin<Fn::Improbe>()(MPI_ANY_SOURCE, kTag, comm_, &is_there, &message, &status) != MPI_SUCCESS) return false;
  if (is_there == 0) return true;
  int count = 0;
  if (twin<Fn::Get_count>()(&status, g_handles.byte, &count) != MPI_SUCCESS || count < 0) return false;
  const auto bytes = static_cast<std::size_t>(count);
  has_message = true;
  if (Arrival* const arrival = make_arrival(bytes)) {
    arrival->from = status.MPI_SOURCE;
    return twin<Fn::Imrecv>()(arrival->bytes.data(), count, g_handles.byte, &message, &arrival->request) == MPI_SUCCESS;
  }
  if (spare_.bytes == nullptr || bytes > ControlPort::kMostLetterBytes) return false;
  spare_.used = bytes;
  spare_.from = status.MPI_SOURCE;
  return twin<Fn::Imrecv>()(spare_.bytes.get(), count, g_handles.byte, &message, &spare_.request) == MPI_SUCCESS;
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

bool StepMail::deliver_spare() noexcept {
  int is_done = 0;
  if (spare_.used == 0) return true;
  if (twin<Fn::Test>()(&spare_.request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  if (is_done == 0) return true;
  ++received_count_;
  port_.receive(spare_.from, {spare_.bytes.get(), spare_.used});
  spare_.used = 0;
  return true;
}

/// Hands over what has arrived. A rank has one letter on its way at a time, so each one's stay in order.
bool StepMail::deliver() noexcept {
  for (auto arrival = arrivals_.begin(); arrival != arrivals_.end();) {
    int is_done = 0;
    if (twin<Fn::Test>()(&arrival->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (is_done == 0) {
      ++arrival;
      continue;
    }
    ++received_count_;
    arriving_bytes_ -= arrival->bytes.size();
    port_.receive(arrival->from, arrival->bytes);
    arrival = arrivals_.erase(arrival);
  }
  return deliver_spare();
}

bool StepMail::send_last() noexcept {
  if (rank_ == 0) return true;
  last_letter_ = port_.take_letter();
  return start(last_letter_, last_request_);
}

bool StepMail::finish(std::uint64_t sent_count) noexcept {
  if (rank_ != 0) {
    const bool has_left = letter_.empty() || twin<Fn::Wait>()(&request_, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    return has_left && (last_letter_.empty() || twin<Fn::Wait>()(&last_request_, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  for (;;) {
    if (!receive()) return false;
    if (received_count_ >= sent_count) return true;
    sched_yield();
  }
}

}  // namespace megascope::mpi
