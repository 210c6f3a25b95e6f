#pragma once

#include <cstdint>

/// Hashes for global names: equal in every process and on every machine.
namespace megascope::mpi {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9E3779B97F4A7C15U + (hash << 6) + (hash >> 2);
  hash ^= hash >> 31;
  hash *= 0x7FB5D329728EA185U;
  return hash ^ hash >> 27;
}

constexpr std::uint64_t hash_text(const char* text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001B3U;
  return hash;
}

}  // namespace megascope::mpi
