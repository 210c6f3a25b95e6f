#include "plugin/live/sessions/counted_stream.h"

#include "core/base/clock.h"
#include "plugin/live/protocol/unauthenticated_budget.h"

#include <cstdint>

namespace megascope::live {
namespace {

/// CPU time charged for a read, before a message is processed: epoll, recvmsg, handler, Beast's
/// parser. Measured with empty frames and with headers sent byte by byte (docs/security.md). A
/// fixed price, because reading the CPU clock costs as much.
constexpr std::uint64_t kCpuNsOfRead = 20'000;
constexpr std::uint64_t kCpuNsOfByte = 8;

}  // namespace

std::size_t LastTaken::available_read_bytes() const noexcept {
  const bool may_read = !is_endless() &&
                        (budget_ == nullptr || budget_->is_open(clock::realtime_ns()));
  return may_read ? std::numeric_limits<std::size_t>::max() : 0;
}

void LastTaken::transfer_read_bytes(std::size_t bytes) noexcept {
  message_bytes_ += bytes;
  if (bytes != 0) reported_at_ = std::chrono::steady_clock::now();
  if (budget_ != nullptr) budget_->spend(bytes, kCpuNsOfRead + bytes * kCpuNsOfByte);
}

}  // namespace megascope::live
