#include "plugin/capture/capture_request.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace megascope::capture {
namespace {

static_assert(std::is_trivially_copyable_v<CaptureRequest> && sizeof(CaptureRequest) == 108);

// Also detects bytes that were not written by pack_capture_requests()
constexpr std::uint64_t kMagic = 0x3148534957534d00;

struct Head {
  std::uint64_t magic = kMagic;
  std::uint64_t count = 0;
};

bool is_sound(const CaptureRequest& capture_request) {
  return capture_request.kind < CaptureRequestKind::kCount &&
         capture_request.reduction < static_cast<std::uint8_t>(kernels::TileReduction::kCount) &&
         (capture_request.tensor_kind == kAnyKind ||
          capture_request.tensor_kind < static_cast<std::uint8_t>(TensorKind::kCount)) &&
         capture_request.every != 0 && capture_request.tiles != 0 &&
         capture_request.tiles <= kMaxTiles && capture_request.name.back() == '\0' &&
         capture_request.name.front() != '\0';
}

}  // namespace

kernels::TileMethod CaptureRequest::method() const {
  return {static_cast<kernels::TileReduction>(reduction), (abs_flags & 1) != 0,
          (abs_flags & 2) != 0};
}

void set_method(CaptureRequest& capture_request, const kernels::TileMethod& method) {
  capture_request.reduction = static_cast<std::uint8_t>(method.reduction);
  capture_request.abs_flags = static_cast<std::uint8_t>((method.has_abs_before ? 1 : 0) |
                                                        (method.has_abs_after ? 2 : 0));
}

bool set_pattern(CaptureRequest& capture_request, std::string_view pattern) {
  capture_request.name.fill('\0');
  if (pattern.empty() || pattern.size() >= capture_request.name.size() ||
      pattern.find('\0') != std::string_view::npos)
    return false;
  std::ranges::copy(pattern, capture_request.name.begin());
  return true;
}

std::vector<std::byte> pack_capture_requests(std::span<const CaptureRequest> capture_requests) {
  const Head head{.magic = kMagic, .count = std::min(capture_requests.size(), kMaxCaptureRequests)};
  std::vector<std::byte> bytes(sizeof head + head.count * sizeof(CaptureRequest));
  std::memcpy(bytes.data(), &head, sizeof head);
  if (head.count != 0)
    std::memcpy(bytes.data() + sizeof head, capture_requests.data(),
                head.count * sizeof(CaptureRequest));
  return bytes;
}

std::vector<CaptureRequest> unpack_capture_requests(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) return {};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != kMagic || head.count > kMaxCaptureRequests ||
      bytes.size() < sizeof head + head.count * sizeof(CaptureRequest))
    return {};
  std::vector<CaptureRequest> capture_requests(head.count);
  if (head.count != 0)
    std::memcpy(capture_requests.data(), bytes.data() + sizeof head,
                head.count * sizeof(CaptureRequest));
  std::erase_if(capture_requests,
                [](const CaptureRequest& capture_request) { return !is_sound(capture_request); });
  return capture_requests;
}

}  // namespace megascope::capture
