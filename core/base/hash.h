#pragma once

#include <cstdint>
#include <string_view>

/// Hashes of words. They are the same in all processes, so that processes derive equal names from
/// equal data.
namespace megascope {

/// Mixes the bits of `value`; bijective (the finalizer of SplitMix64).
inline constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9U;
  value = (value ^ value >> 27) * 0x94D049BB133111EBU;
  return value ^ value >> 31;
}

/// Combines two hashes; the order matters.
inline constexpr std::uint64_t combined(std::uint64_t hash, std::uint64_t value) {
  return mix(hash + 0x9E3779B97F4A7C15U) ^ mix(value + 0xD1B54A32D192ED03U);
}

inline constexpr std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = combined(hash, static_cast<unsigned char>(c));
  return hash;
}

inline constexpr std::uint64_t not_zero(std::uint64_t hash) { return hash == 0 ? 1 : hash; }

}  // namespace megascope
