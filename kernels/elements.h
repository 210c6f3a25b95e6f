#pragma once

#include "core/record/point.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

/// Conversion of tensor elements to numbers.
namespace megascope::kernels {

/// Converts IEEE-754 binary16; exact.
inline double from_half(std::uint16_t bits) {
  const unsigned exponent = bits >> 10 & 0x1F;
  const unsigned fraction = bits & 0x3FF;
  double value = 0.0;
  if (exponent == 0x1F)
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = fraction * 0x1p-24;
  else
    value = std::bit_cast<double>((std::uint64_t{exponent} + 1023 - 15) << 52 |
                                  std::uint64_t{fraction} << 42);
  return (bits & 0x8000) != 0 ? -value : value;
}
/// Converts bfloat16, the upper half of binary32; exact.
inline double from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

template <class Stored>
struct Plain {
  using Type = Stored;
  static double value(Stored stored) { return static_cast<double>(stored); }
};
struct Half {
  using Type = std::uint16_t;
  static double value(std::uint16_t bits) { return from_half(bits); }
};
struct Bfloat16 {
  using Type = std::uint16_t;
  static double value(std::uint16_t bits) { return from_bfloat16(bits); }
};

/// Returns the element at the address `at`, which need not be aligned.
template <class Element>
double load(const unsigned char* at) {
  typename Element::Type stored;
  std::memcpy(&stored, at, sizeof stored);
  return Element::value(stored);
}

/// Calls `function` with an object of the class that converts elements of `type`, for example
/// Plain<float>{} for kFloat32, and returns its result.
template <class Function>
auto with_elements(ElementType type, Function function) {
  switch (type) {
    case ElementType::kFloat64:
      return function(Plain<double>{});
    case ElementType::kFloat16:
      return function(Half{});
    case ElementType::kBfloat16:
      return function(Bfloat16{});
    case ElementType::kInt8:
      return function(Plain<std::int8_t>{});
    case ElementType::kInt16:
      return function(Plain<std::int16_t>{});
    case ElementType::kInt32:
      return function(Plain<std::int32_t>{});
    case ElementType::kInt64:
      return function(Plain<std::int64_t>{});
    case ElementType::kUint8:
      return function(Plain<std::uint8_t>{});
    case ElementType::kUint16:
      return function(Plain<std::uint16_t>{});
    case ElementType::kUint32:
      return function(Plain<std::uint32_t>{});
    case ElementType::kUint64:
      return function(Plain<std::uint64_t>{});
    case ElementType::kFloat32:
    case ElementType::kCount:
      break;
  }
  return function(Plain<float>{});
}

}  // namespace megascope::kernels
