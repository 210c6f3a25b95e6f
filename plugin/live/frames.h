#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

/// Binary frames (docs/live_protocol.md). Pure; machines are little-endian.
namespace megascope::live {

enum class FrameKind : std::uint8_t {
  kSteps = 1,
  kCounters = 2,
  kStatistics = 3,
  kTensor = 4,
  kCalls = 5
};

/// What stands in a frame's header.
struct FrameHead {
  FrameKind kind = FrameKind::kSteps;
  bool has_loss = false;     ///< something of the panel was left out before this frame
  std::uint32_t number = 0;  ///< on the connection
};

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

/// A frame that is being written: header and metadata, then arrays one behind the other, each at a
/// multiple of 8.
class Frame {
 public:
  /// payload_bytes: of all arrays, each rounded up to 8.
  Frame(const FrameHead& head, std::string_view metadata, std::size_t payload_bytes);
  /// Room for the next array, zeros; what there was no room for in payload_bytes is a defect of the
  /// caller.
  std::byte* next_array(std::size_t bytes);
  template <class Value>
  void add_array(std::span<const Value> values) {
    std::byte* const at = next_array(values.size_bytes());
    if (!values.empty()) std::memcpy(at, values.data(), values.size_bytes());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

/// The power of two by which finite values are divided so that the largest is below 2^15, where
/// binary16 has most of its range below it; 1 if all are 0. Nothing finite becomes infinite by
/// that, and small numbers stay apart from 0.
float half_scale(std::span<const float> values) noexcept;

/// To IEEE-754 binary16, to the nearest, halves to even; too large is infinity, NaN stays one.
/// halves: as many as values, any alignment. scale: a power of two; the halves times it are the
/// values.
void to_halves(std::span<const float> values, std::byte* halves, float scale = 1.0F) noexcept;

}  // namespace megascope::live
