#pragma once

#include "core/record/point.h"
#include "kernels/tiles.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

/// Capture requests: what clients of the live view requested, as distributed to all ranks
/// (docs/live_protocol.md).
namespace megascope::capture {

/// What a capture request selects. Values are sent between processes of one build. New values, and
/// new members of CaptureRequest, are appended only.
enum class CaptureRequestKind : std::uint8_t {
  kCounters,    ///< values of counters
  kStatistics,  ///< statistics of tensors over all ranks
  kTile,        ///< views of tensors, reduced to tiles
  kWhole,       ///< views of tensors, without reduction
  kCount        ///< number of kinds
};

inline constexpr std::uint8_t kAnyKind = 0xFF;  ///< CaptureRequest::tensor_kind: all kinds
inline constexpr std::size_t kCaptureRequestNameBytes = 72;  ///< including a final zero
inline constexpr std::size_t kMaxCaptureRequests = 64;
inline constexpr std::uint64_t kMaxWholeElements = 65'536;
inline constexpr std::uint32_t kMaxTiles = 4096;
/// Largest result of pack_capture_requests()
inline constexpr std::size_t kMaxCaptureRequestBytes = 16 + kMaxCaptureRequests * 108;

/// One capture request. Trivially copyable; sent between processes as bytes.
struct CaptureRequest {
  std::uint32_t id = 0;  ///< assigned by the server; view parts carry it
  CaptureRequestKind kind = CaptureRequestKind::kCounters;
  std::uint8_t tensor_kind = kAnyKind;
  std::uint8_t reduction = 0;  ///< kernels::TileReduction
  std::uint8_t abs_flags = 0;  ///< bit 0: |x| before the reduction, bit 1: after it
  std::int32_t first_layer = std::numeric_limits<std::int32_t>::min();
  std::int32_t last_layer = std::numeric_limits<std::int32_t>::max();
  /// Micro-batch of the tensors. Tensors without a micro-batch match every value.
  std::int32_t micro_batch = 0;
  std::uint32_t replica = 0;  ///< coordinate along "dp" of the rank that captures
  std::uint32_t every = 1;    ///< capture in steps whose number is a multiple of this one
  std::uint32_t tiles = 96;
  /// Number of leading dimensions that are kept. The other dimensions are merged into one, which is
  /// divided into tiles. 0: all dimensions are kept and the last one is divided into tiles.
  std::uint32_t keep = 0;
  std::array<char, kCaptureRequestNameBytes> name{};  ///< a pattern, zero-padded

  std::string_view pattern() const { return name.data(); }
  kernels::TileMethod method() const;
};

void set_method(CaptureRequest& capture_request, const kernels::TileMethod& method);
/// Sets the pattern. Returns false, without effect, if it is empty, too long, or contains a zero
/// byte.
bool set_pattern(CaptureRequest& capture_request, std::string_view pattern);

/// Serializes capture requests.
std::vector<std::byte> pack_capture_requests(std::span<const CaptureRequest> capture_requests);
/// Reads serialized capture requests. bytes: any bytes. Returns no requests if the bytes are
/// malformed. Omits requests with values out of range.
std::vector<CaptureRequest> unpack_capture_requests(std::span<const std::byte> bytes);

}  // namespace megascope::capture
