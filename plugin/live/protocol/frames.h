#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

/// Binary frames of the protocol (docs/live_protocol.md). Pure; little-endian machines only.
namespace megascope::live {

enum class FrameKind : std::uint8_t {
  kSteps = 1,       ///< times of all ranks in some steps
  kCounters = 2,    ///< values of counters
  kStatistics = 3,  ///< statistics of tensors
  kTensor = 4,      ///< one view of a tensor
  kCalls = 5        ///< totals of MPI calls
};

/// The fields of a frame's header that differ between frames.
struct FrameHead {
  FrameKind kind = FrameKind::kSteps;
  bool has_loss = false;     ///< data of the panel was dropped before this frame
  std::uint32_t number = 0;  ///< sequence number on the connection
};

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

/// Builds a frame: header and metadata, then arrays, each padded to a multiple of 8 bytes.
class Frame {
 public:
  /// payload_bytes: sum of the sizes of all arrays, each rounded up to a multiple of 8.
  Frame(const FrameHead& head, std::string_view metadata, std::size_t payload_bytes);
  /// Returns zeroed memory for the next array. The sum of all arrays must not exceed payload_bytes.
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

/// Returns the scale for to_halves(): the smallest power of two, but at least 2^-126, such that the
/// largest finite value divided by it is below 2^15. No finite value then overflows. Returns 1 if
/// all values are 0.
float half_scale(std::span<const float> values) noexcept;

/// Converts values / scale to IEEE-754 binary16, rounding to nearest even. Overflow gives infinity;
/// NaN stays NaN. halves: one for each value, any alignment. scale: a power of two.
void to_halves(std::span<const float> values, std::byte* halves, float scale = 1.0F) noexcept;

}  // namespace megascope::live
