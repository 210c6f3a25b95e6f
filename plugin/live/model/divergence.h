#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace megascope::live {

/// Detects divergence of one training counter (docs/live.md, "Alerts").
/// - Bound: `factor` times the smaller of the maximum of the first kFirst values and the maximum of
///   the last kWindow values that were within the bound.
/// - Alert: kInRow consecutive values above the bound; one alert until a value is within the bound
///   again.
/// - The first 2 kFirst values raise no alert.
/// One thread.
class Divergence {
 public:
  static constexpr std::size_t kFirst = 10;
  static constexpr std::size_t kWindow = 50;
  static constexpr std::size_t kInRow = 5;

  /// Returns the factor for a counter of this name: 1.5 if the name contains `loss`, and 10 if it
  /// contains `norm` and `grad`. Returns nullopt for other names and for names that contain
  /// `scale`; these counters are not watched.
  static std::optional<double> factor_of(const std::string& name) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto has = [&](const char* word) { return lower.find(word) != std::string::npos; };
    if (has("scale")) return std::nullopt;  // "loss_scale" grows by design
    if (has("loss")) return 1.5;
    return has("grad") && has("norm") ? std::optional(10.0) : std::nullopt;
  }

  explicit Divergence(double factor) : factor_(factor) {}

  /// Adds a value. Returns the bound if this is the kInRow-th consecutive value above it.
  /// Non-finite values are ignored.
  std::optional<double> add(double value) {
    if (!(value - value == 0.0)) return std::nullopt;
    if (count_ < kFirst) first_ = count_ == 0 ? value : std::max(first_, value);
    ++count_;
    const std::optional<double> bound = bound_now();
    const bool is_high = bound && value > *bound;
    if (is_high) {
      ++in_row_;
      if (in_row_ == kInRow && !is_alerted_) {
        is_alerted_ = true;
        return bound;
      }
      return std::nullopt;  // is not part of the window
    }
    in_row_ = 0;
    is_alerted_ = false;
    window_.push_back(value);
    if (window_.size() > kWindow) window_.pop_front();
    return std::nullopt;
  }

 private:
  std::optional<double> bound_now() const {
    if (count_ <= 2 * kFirst || window_.empty()) return std::nullopt;
    const double recent = *std::ranges::max_element(window_);
    const double lower = std::min(first_, recent);
    return lower > 0.0 ? std::optional(factor_ * lower) : std::nullopt;
  }

  double factor_;
  double first_ = 0.0;
  std::uint64_t count_ = 0;
  std::deque<double> window_;  ///< values within the bound, newest last
  std::size_t in_row_ = 0;
  bool is_alerted_ = false;
};

}  // namespace megascope::live
