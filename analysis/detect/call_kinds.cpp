#include "analysis/detect/call_kinds.h"

#include <algorithm>

namespace megascope::detect {
namespace {

constexpr std::uint64_t kMinCount = 3;
constexpr double
    kMinGap = 0.5;  ///< smallest distance of two calls, over the mean; kMaxGap: the largest
constexpr double kMaxGap = 1.6;
constexpr std::size_t kLongestOrder = 1U << 16U;

std::uint64_t hash_of(RegionId region, const EventKey& key) {
  return key.is_message_completion() ? ~std::uint64_t{region} : key.hash(region);
}

void count(std::uint64_t index, CallKind& kind) {
  if (kind.count++ == 0)
    kind.first = index;
  else {
    kind.shortest = std::min(kind.shortest, index - kind.last);
    kind.longest = std::max(kind.longest, index - kind.last);
  }
  kind.last = index;
}

}  // namespace

bool CallKind::is_regular() const {
  if (count < kMinCount) return false;
  const double mean = static_cast<double>(last - first) / static_cast<double>(count - 1);
  return static_cast<double>(shortest) >= kMinGap * mean &&
         static_cast<double>(longest) <= kMaxGap * mean;
}

void CallKinds::add(const Call& call) {
  const std::uint64_t index = index_++;
  if (call.depth != 0) return;
  if (index != 0 && call.enter_ns > last_leave_ns_) work_ns_ += call.enter_ns - last_leave_ns_;
  last_leave_ns_ = std::max(last_leave_ns_, call.leave_ns);
  if (call.facts.empty()) return;
  const EventKey key(call.facts.front());
  const auto [found, is_new] = indices_.emplace(hash_of(call.region, key),
                                                static_cast<std::uint32_t>(kinds_.size()));
  if (is_new) kinds_.push_back({.region = call.region, .key = key});
  count(index, kinds_[found->second]);
  if (noted_++ < kLongestOrder) order_.push_back({found->second, work_ns_});
  work_ns_ = 0;
}

}  // namespace megascope::detect
