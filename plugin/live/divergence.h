#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace megascope::live {

/// Watches one counter of a training for values that run away (docs/live.md, "Alerts"). The bound
/// is `factor` times the smaller of two: the largest of the first kFirst values, and the largest of
/// the last kWindow values that were within the bound. kInRow values in a row above it are an
/// alert, one until a value is within the bound again. The first 2 kFirst values are not judged.
/// One thread.
class Divergence {
 public:
  static constexpr std::size_t kFirst = 10;
  static constexpr std::size_t kWindow = 50;
  static constexpr std::size_t kInRow = 5;

  /// How many times above the bound is too much for a counter of this name; nullopt: it is not
  /// watched. Names with `loss`: 1.5; with `norm` and `grad`: 10.
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

  /// The next value. Returns the bound where this is the kInRow-th value in a row above it. Values
  /// that are not finite are ignored.
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
      return std::nullopt;  // does not raise the window's bound
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
  std::deque<double> window_;  ///< values within the bound, the newest last
  std::size_t in_row_ = 0;
  bool is_alerted_ = false;
};

}  // namespace megascope::live
