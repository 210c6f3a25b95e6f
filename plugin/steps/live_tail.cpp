#include "plugin/steps/live_tail.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace megascope::steps {

static_assert(std::is_trivially_copyable_v<RankTimes> && sizeof(RankTimes) == 16);
static_assert(std::is_trivially_copyable_v<TailRequest>);

namespace {

constexpr std::size_t kCaptureRequestSpace = (capture::kMaxCaptureRequestBytes + 7) / 8 * 8;

}  // namespace

void clear_tail(std::span<std::byte> tail) noexcept { std::ranges::fill(tail, std::byte{0}); }

void set_times(std::span<std::byte> tail, std::uint32_t rank, const RankTimes& times) noexcept {
  if (tail.size() >= (rank + std::size_t{1}) * sizeof times)
    std::memcpy(tail.data() + rank * sizeof times, &times, sizeof times);
}

RankTimes times_of(std::span<const std::byte> tail, std::uint32_t rank) noexcept {
  RankTimes times;
  if (tail.size() >= (rank + std::size_t{1}) * sizeof times)
    std::memcpy(&times, tail.data() + rank * sizeof times, sizeof times);
  return times.is_announced != 0 ? times : RankTimes{};
}

void set_capture_requests(std::span<std::byte> tail, std::uint32_t ranks,
                          std::span<const std::byte> capture_requests) noexcept {
  const std::span<std::byte> space = tail.subspan(ranks * sizeof(RankTimes))
                                         .first(kCaptureRequestSpace);
  std::ranges::copy(capture_requests.first(std::min(capture_requests.size(), space.size())),
                    space.begin());
}

std::span<const std::byte> capture_requests_in(std::span<const std::byte> tail,
                                               std::uint32_t ranks) noexcept {
  return tail.empty() ? tail : tail.subspan(ranks * sizeof(RankTimes)).first(kCaptureRequestSpace);
}

void set_request(std::span<std::byte> tail, const TailRequest& request) noexcept {
  if (tail.size() >= sizeof request)
    std::memcpy(tail.last(sizeof request).data(), &request, sizeof request);
}

TailRequest request_in(std::span<const std::byte> tail) noexcept {
  TailRequest request;
  if (tail.size() < sizeof request) return request;
  std::memcpy(&request, tail.last(sizeof request).data(), sizeof request);
  request.bytes = std::min<std::uint64_t>(request.bytes, request.text.size());
  return request;
}

void merge_tails(std::span<const std::byte> theirs, std::span<std::byte> mine, std::uint32_t ranks,
                 bool has_their_capture_requests) noexcept {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const RankTimes times = times_of(theirs, rank);
    if (times.is_announced != 0) set_times(mine, rank, times);
  }
  if (has_their_capture_requests && ranks != 0)
    std::ranges::copy(theirs.subspan(ranks * sizeof(RankTimes)),
                      mine.subspan(ranks * sizeof(RankTimes)).begin());
}

}  // namespace megascope::steps
