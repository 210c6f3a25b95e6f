#include "plugin/live/compat/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace megascope::live {

std::uint64_t product_of(const std::vector<std::uint64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

void make_three_dimensions(Numbers& numbers) {
  while (numbers.shape.size() < 3) numbers.shape.insert(numbers.shape.begin(), 1);
  while (numbers.shape.size() > 3) {
    const std::uint64_t last = numbers.shape.back();
    numbers.shape.pop_back();
    numbers.shape.back() *= last;
  }
}

void widen_rows(Numbers& numbers, std::uint64_t cells) {
  const std::uint64_t row = numbers.shape.back();
  if (row == 0 || row >= cells) return;
  const std::uint64_t rows = numbers.values.size() / row;
  std::vector<float> wide(rows * cells, std::numeric_limits<float>::quiet_NaN());
  for (std::uint64_t i = 0; i < rows; ++i)
    std::copy_n(numbers.values.begin() + static_cast<std::ptrdiff_t>(i * row), row,
                wide.begin() + static_cast<std::ptrdiff_t>(i * cells));
  numbers.values = std::move(wide);
  numbers.shape.back() = cells;
}

void keep_last(Numbers& numbers, std::size_t dimension, std::uint64_t count) {
  const std::uint64_t extent = numbers.shape[dimension];
  if (extent <= count) return;
  const std::vector<std::uint64_t> behind(
      numbers.shape.begin() + static_cast<std::ptrdiff_t>(dimension) + 1, numbers.shape.end());
  const std::uint64_t inner = product_of(behind);
  std::vector<float> kept;
  for (std::uint64_t at = (extent - count) * inner; at < numbers.values.size();
       at += extent * inner)
    kept.insert(kept.end(), numbers.values.begin() + static_cast<std::ptrdiff_t>(at),
                numbers.values.begin() + static_cast<std::ptrdiff_t>(at + count * inner));
  numbers.values = std::move(kept);
  numbers.shape[dimension] = count;
}

void pad_front(Numbers& numbers, std::size_t dimension, std::uint64_t count, float value) {
  const std::uint64_t extent = numbers.shape[dimension];
  if (extent >= count) return;
  const std::vector<std::uint64_t> behind(
      numbers.shape.begin() + static_cast<std::ptrdiff_t>(dimension) + 1, numbers.shape.end());
  const std::uint64_t inner = product_of(behind);
  std::vector<float> padded;
  for (std::uint64_t at = 0; at < numbers.values.size(); at += extent * inner) {
    const auto from = numbers.values.begin() + static_cast<std::ptrdiff_t>(at);
    padded.insert(padded.end(), (count - extent) * inner, value);
    padded.insert(padded.end(), from, from + static_cast<std::ptrdiff_t>(extent * inner));
  }
  numbers.values = std::move(padded);
  numbers.shape[dimension] = count;
}

std::string update_text(int update_type, std::int32_t layer_id,
                        const std::vector<std::uint64_t>& args, const std::vector<float>& values) {
  std::string text = R"({"type":"update","update_type":)" + std::to_string(update_type) +
                     ",\"layer_id\":" + std::to_string(layer_id) + ",\"args\":[";
  for (std::size_t i = 0; i < args.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(args[i]);
  text += "],\"result\":[";
  text.reserve(text.size() + values.size() * 12 + 2);
  std::array<char, 32> digits{};
  for (const float value : values) {
    if (std::isfinite(value))
      text.append(digits.data(),
                  std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
    else
      text += "null";
    text += ',';
  }
  if (!values.empty()) text.pop_back();
  return text += "]}";
}

}  // namespace megascope::live
