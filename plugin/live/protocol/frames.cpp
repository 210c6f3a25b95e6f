#include "plugin/live/protocol/frames.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace megascope::live {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kHeadBytes = 16;
constexpr std::size_t kBatch = 256;

struct Header {
  std::array<char, 4> magic{'M', 'S', 'L', '1'};
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  std::uint32_t number = 0;
  std::uint32_t metadata_bytes = 0;
};
static_assert(sizeof(Header) == kHeadBytes);

/// Computes all cases and selects one, so that compilers can vectorize it.
inline std::uint16_t to_half(float value) {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  constexpr std::uint32_t kTooLarge = 0x47800000;   // 2^16
  constexpr std::uint32_t kMinNormal = 0x38800000;  // 2^-14
  constexpr std::uint32_t kRebias = 0x38000000;     // 127 - 15 as an exponent
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  const std::uint32_t normal = (magnitude - kRebias + 0xFFF + (magnitude >> 13 & 1)) >>
                               13;  // a carry increments the exponent
  // The last bit of 0.5F is binary16's smallest subnormal, so this addition rounds correctly.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
                              std::bit_cast<std::uint32_t>(0.5F);
  std::uint32_t half = magnitude < kMinNormal ? small : normal;
  half = magnitude >= kTooLarge ? 0x7C00 : half;
  half = magnitude > kInfinity ? 0x7E00 : half;
  return static_cast<std::uint16_t>(half | (bits >> 16 & 0x8000));
}

}  // namespace

Frame::Frame(const FrameHead& head, std::string_view metadata, std::size_t payload_bytes)
    : bytes_(kHeadBytes + rounded_up(metadata.size()) + payload_bytes),
      at_(kHeadBytes + rounded_up(metadata.size())) {
  const Header header{.kind = static_cast<std::uint8_t>(head.kind),
                      .flags = static_cast<std::uint8_t>(head.has_loss ? 1 : 0),
                      .number = head.number,
                      .metadata_bytes = static_cast<std::uint32_t>(metadata.size())};
  std::memcpy(bytes_.data(), &header, sizeof header);
  std::memcpy(bytes_.data() + kHeadBytes, metadata.data(), metadata.size());
}

std::byte* Frame::next_array(std::size_t bytes) {
  std::byte* const at = bytes_.data() + at_;
  at_ += rounded_up(bytes);
  return at;
}

float half_scale(std::span<const float> values) noexcept {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  std::uint32_t largest = 0;  // as bits of |x|, which have the same order
  for (const float value : values) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFF;
    largest = std::max(largest, magnitude < kInfinity ? magnitude : 0);
  }
  if (largest == 0) return 1.0F;
  constexpr int kLargestExponent = 14;
  return std::ldexp(1.0F, std::max(std::ilogb(std::bit_cast<float>(largest)) - kLargestExponent,
                                   -126));  // so that 1 / scale is a float
}

void to_halves(std::span<const float> values, std::byte* halves, float scale) noexcept {
  const float factor = 1.0F / scale;  // exact; so is the product, unless it underflows
  std::array<std::uint16_t, kBatch> batch;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), kBatch);
    for (std::size_t i = 0; i < count; ++i) batch[i] = to_half(values[i] * factor);
    std::memcpy(halves, batch.data(), count * sizeof batch[0]);
    halves += count * sizeof batch[0];
    values = values.subspan(count);
  }
}

}  // namespace megascope::live
