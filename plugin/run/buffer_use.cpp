#include "plugin/run/buffer_use.h"

#include "core/base/text.h"

namespace megascope::run {

std::string buffer_use_text(const BufferUse& use, config::BufferPolicy policy) {
  constexpr std::uint64_t kMinRestNs = 30'000'000'000;
  if (use.rest_ns() < kMinRestNs) return {};
  const std::string then = policy == config::BufferPolicy::kFlight
                               ? "then the oldest records are dropped (a larger "
                                 "MEGASCOPE_BUFFER_SIZE keeps more)"
                               : "then recording stops (MEGASCOPE_BUFFER_POLICY=flight keeps the "
                                 "newest records instead, a larger MEGASCOPE_BUFFER_SIZE more)";
  return "rank 0 used " + human_bytes(use.used_bytes) + " of " + human_bytes(use.limit_bytes) +
         (use.is_limited_by_system ? " that the disk or the memory leaves it" : "") +
         " and records " + human_bytes(static_cast<std::uint64_t>(use.bytes_per_s())) +
         " per second: the rest lasts about " +
         human_duration(static_cast<std::int64_t>(use.rest_ns())) + " at this rate, " + then;
}

}  // namespace megascope::run
