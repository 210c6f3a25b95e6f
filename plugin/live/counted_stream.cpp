#include "plugin/live/counted_stream.h"

#include "plugin/live/guest_budget.h"
#include "plugin/live/loop.h"

#include <cstdint>

namespace megascope::live {
namespace {

/// What reading costs the thread before anything is done with a message: epoll, recvmsg, the
/// handler, Beast's parser. Measured with frames without payload and with headers that come byte by
/// byte (docs/security.md); a fixed price, as the clock itself costs as much.
constexpr std::uint64_t kCpuNsOfRead = 20'000;
constexpr std::uint64_t kCpuNsOfByte = 8;

}  // namespace

std::size_t LastTaken::available_read_bytes() const noexcept {
  const bool may_read = !is_endless() &&
                        (budget_ == nullptr || budget_->is_open(now_since_epoch_ns()));
  return may_read ? std::numeric_limits<std::size_t>::max() : 0;
}

void LastTaken::transfer_read_bytes(std::size_t bytes) noexcept {
  message_bytes_ += bytes;
  if (bytes != 0) said_at_ = std::chrono::steady_clock::now();
  if (budget_ != nullptr) budget_->spend(bytes, kCpuNsOfRead + bytes * kCpuNsOfByte);
}

}  // namespace megascope::live
