#include "mpi_layer/step_mail.h"

#include <sched.h>

#include <new>

#include "mpi_layer/abi.h"
#include "mpi_layer/fn.h"
#include "mpi_layer/twins.h"

namespace megascope::mpi {
namespace {

constexpr int kTag = 1;
constexpr std::size_t kMostArrivals = 64;
constexpr std::size_t kMostArrivingBytes = std::size_t{64} << 20;

}  // namespace

StepMail::StepMail(ControlPort& port, MPI_Comm comm, bool is_alone) : port_(port), comm_(comm), is_alone_(is_alone), request_(g_handles.request_null) {
  if (is_alone) return;
  twin<Fn::Comm_rank>()(comm, &rank_);
  twin<Fn::Comm_size>()(comm, &size_);
}

bool StepMail::progress() noexcept { return rank_ == 0 ? receive() : send(); }

bool StepMail::send() noexcept {
  if (!letter_.empty()) {
    int is_done = 0;
    if (twin<Fn::Test>()(&request_, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (is_done == 0) return true;  // the next one waits, and grows
  }
  letter_ = port_.take_letter();
  return letter_.empty() || start();
}

bool StepMail::start() noexcept {
  ++sent_count_;
  return twin<Fn::Isend>()(letter_.data(), static_cast<int>(letter_.size()), g_handles.byte, 0, kTag, comm_, &request_) == MPI_SUCCESS;
}

bool StepMail::receive() noexcept {
  const std::vector<std::byte> own = port_.take_letter();
  if (!own.empty()) port_.receive(0, own);
  if (is_alone_) return true;
  for (bool has_message = true; has_message && arrivals_.size() < kMostArrivals && arriving_bytes_ < kMostArrivingBytes;) {
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
  try {
    Arrival& arrival = arrivals_.emplace_back();
    arrival.from = status.MPI_SOURCE;
    arrival.bytes.resize(static_cast<std::size_t>(count));
    arriving_bytes_ += arrival.bytes.size();
    has_message = true;
    return twin<Fn::Imrecv>()(arrival.bytes.data(), count, g_handles.byte, &message, &arrival.request) == MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return false;
  }
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
  return true;
}

bool StepMail::finish(std::uint64_t sent_count) noexcept {
  if (rank_ != 0) {
    if (!letter_.empty() && twin<Fn::Wait>()(&request_, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    letter_ = port_.take_letter();
    return start() && twin<Fn::Wait>()(&request_, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  }
  const std::uint64_t total = sent_count + static_cast<std::uint64_t>(size_ - 1);
  for (;;) {
    if (!receive()) return false;
    if (received_count_ >= total) return true;
    sched_yield();
  }
}

}  // namespace megascope::mpi
