#include "mpi_layer/ping_pong.h"

#include "core/base/clock.h"
#include "mpi_layer/abi.h"
#include "mpi_layer/twins.h"

namespace megascope::mpi {
namespace {

constexpr int kTag = 2;
constexpr std::uint8_t kAsk = 1;
constexpr std::uint8_t kDone = 0;
constexpr std::uint64_t kSlackTicks = 1000;  // readings of one clock on two cores: the TSC is not ordered with memory

bool send(const void* data, int bytes, int peer, MPI_Comm comm) noexcept {
  return twin<Fn::Send>()(data, bytes, g_handles.byte, peer, kTag, comm) == MPI_SUCCESS;
}
bool receive(void* data, int bytes, int peer, MPI_Comm comm) noexcept {
  return twin<Fn::Recv>()(data, bytes, g_handles.byte, peer, kTag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

std::uint64_t width(const ClockSample& sample) noexcept { return sample.received_ticks - sample.sent_ticks; }

bool may_be_one_clock(const ClockSample& sample) noexcept {
  return sample.peer_ticks + kSlackTicks >= sample.sent_ticks && sample.peer_ticks <= sample.received_ticks + kSlackTicks;
}

}  // namespace

bool ask_clock(MPI_Comm comm, int peer, bool use_tsc, const PingLimits& limits, Pings& result) noexcept {
  int best_index = 0;
  std::uint64_t begin_ns = 0;
  for (int i = 0; i < limits.most; ++i) {
    if (i >= limits.least && i - best_index > limits.patience) break;
    if (i >= limits.least && clock::monotonic_ns() - begin_ns > limits.budget_ns) break;
    ClockSample sample;
    sample.sent_ticks = clock::ticks(use_tsc);
    if (!send(&kAsk, 1, peer, comm)) return false;
    if (!receive(&sample.peer_ticks, sizeof sample.peer_ticks, peer, comm)) return false;
    sample.received_ticks = clock::ticks(use_tsc);
    if (i == 0) begin_ns = clock::monotonic_ns();
    result.is_same_clock = result.is_same_clock && may_be_one_clock(sample);
    if (i != 0 && width(sample) >= width(result.best)) continue;
    result.best = sample;
    best_index = i;
  }
  return send(&kDone, 1, peer, comm);
}

bool answer_pings(MPI_Comm comm, int peer, bool use_tsc) noexcept {
  while (true) {
    std::uint8_t question = kDone;
    if (!receive(&question, 1, peer, comm)) return false;
    if (question == kDone) return true;
    const std::uint64_t now = clock::ticks(use_tsc);
    if (!send(&now, sizeof now, peer, comm)) return false;
  }
}

}  // namespace megascope::mpi
