#include "mpi_layer/own_communication/ping_pong.h"

#include "core/base/clock.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

#include <sched.h>

namespace megascope::mpi {
namespace {

constexpr std::uint64_t kAsk = 1;
constexpr std::uint64_t kDone = 0;
constexpr std::uint64_t kSlackTicks = 200;  // readings of one clock on two cores: the TSC is not
                                            // ordered with memory accesses
constexpr std::uint64_t
    kBusyWaitNs = 20'000;  // as long as another core needs at most; afterwards it may need this one

struct Message {
  std::uint64_t round;
  std::uint64_t value;
};
constexpr int kMessageBytes = sizeof(Message);

std::uint64_t width(const ClockSample& sample) noexcept {
  return sample.received_ticks - sample.sent_ticks;
}

bool may_be_one_clock(const ClockSample& sample) noexcept {
  return sample.peer_ticks + kSlackTicks >= sample.sent_ticks &&
         sample.peer_ticks <= sample.received_ticks + kSlackTicks;
}

/// Returns whether the request completes within timeout_ns. It is complete or cancelled
/// afterwards.
bool completes(MPI_Request request, std::uint64_t timeout_ns) noexcept {
  const std::uint64_t begin_ns = clock::monotonic_ns();
  for (int is_done = 0;;) {
    if (pmpi<Fn::Test>()(&request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    if (is_done != 0) return true;
    const std::uint64_t waited_ns = clock::monotonic_ns() - begin_ns;
    if (timeout_ns != 0 && waited_ns > timeout_ns) break;
    if (waited_ns > kBusyWaitNs) sched_yield();
  }
  pmpi<Fn::Cancel>()(&request);
  pmpi<Fn::Wait>()(&request, MPI_STATUS_IGNORE);
  return false;
}

}  // namespace

bool Wire::send(std::uint64_t value, int peer) const noexcept {
  const Message message{.round = round, .value = value};
  return pmpi<Fn::Send>()(&message, kMessageBytes, g_handles.byte, peer, tag, comm) == MPI_SUCCESS;
}

bool Wire::receive(std::uint64_t& value, int peer) const noexcept {
  Message message{.round = 0, .value = 0};
  MPI_Request request = g_handles.request_null;
  if (pmpi<Fn::Irecv>()(&message, kMessageBytes, g_handles.byte, peer, tag, comm, &request) !=
      MPI_SUCCESS)
    return false;
  if (!completes(request, timeout_ns) || message.round != round) return false;
  value = message.value;
  return true;
}

bool ask_clock(const Wire& wire, int peer, bool use_tsc, const PingLimits& limits,
               Pings& result) noexcept {
  int best_index = 0;
  std::uint64_t begin_ns = 0;
  for (int i = 0; i < limits.most; ++i) {
    if (i >= limits.least && i - best_index > limits.timeout) break;
    if (i >= limits.least && clock::monotonic_ns() - begin_ns > limits.budget_ns) break;
    ClockSample sample;
    sample.sent_ticks = clock::ticks(use_tsc);
    if (!wire.send(kAsk, peer) || !wire.receive(sample.peer_ticks, peer)) return false;
    sample.received_ticks = clock::ticks(use_tsc);
    if (i == 0) begin_ns = clock::monotonic_ns();
    result.is_same_clock = result.is_same_clock && may_be_one_clock(sample);
    if (i != 0 && width(sample) >= width(result.best)) continue;
    result.best = sample;
    best_index = i;
  }
  return wire.send(kDone, peer);
}

bool answer_pings(const Wire& wire, int peer, bool use_tsc) noexcept {
  for (std::uint64_t question = kAsk; wire.receive(question, peer);) {
    if (question == kDone) return true;
    if (!wire.send(clock::ticks(use_tsc), peer)) return false;
  }
  return false;
}

}  // namespace megascope::mpi
