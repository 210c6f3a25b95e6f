#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace megascope::synth {

/// A generator of random numbers. The constructor's arguments are its key. Generators with equal
/// keys give equal sequences. SplitMix64 (G. Steele et al., OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mixed(seed)) {}
  Random(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0)
      : state_(mixed(mixed(mixed(mixed(seed) ^ a) ^ b) ^ c)) {}

  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15U); }
  /// Returns a number greater than 0 and less than 1.
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  /// Returns a number from 0 to count − 1.
  std::int32_t below(std::int32_t count) { return static_cast<std::int32_t>(uniform() * count); }
  double exponential() { return -std::log(uniform()); }
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  static std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31);
  }
  std::uint64_t state_;
};

}  // namespace megascope::synth
