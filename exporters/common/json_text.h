#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace megascope::timeline {

/// Buffer for JSON text. Appends only; keeps its memory when cleared. Strings must already be
/// escaped.
class JsonText {
 public:
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {data_.data(), size_}; }

  JsonText& operator<<(std::string_view text) {
    reserve(text.size());
    std::memcpy(data_.data() + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  JsonText& operator<<(std::int64_t number) { return append(number, 10); }
  JsonText& hex(std::uint64_t number) { return append(number, 16); }
  /// Appends the shortest text that reads back as the same number. number: finite.
  JsonText& real(double number) { return append(number); }
  /// Appends microseconds with three decimals, exact to the ns.
  JsonText& time_us(std::uint64_t time_ns) {
    append(time_ns / 1000, 10);
    const auto rest = static_cast<unsigned>(time_ns % 1000);
    const char digits[4] = {'.', digit(rest / 100), digit(rest / 10 % 10), digit(rest % 10)};
    return *this << std::string_view(digits, sizeof digits);
  }

 private:
  static constexpr std::size_t kMaxDigits = 32;

  static char digit(unsigned value) { return static_cast<char>('0' + value); }
  void reserve(std::size_t bytes) {
    if (size_ + bytes > data_.size()) data_.resize(2 * (size_ + bytes));
  }
  template <class Number, class... Base>
  JsonText& append(Number number, Base... base) {
    reserve(kMaxDigits);
    char* const at = data_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(at, at + kMaxDigits, number, base...).ptr - at);
    return *this;
  }

  std::vector<char> data_ = std::vector<char>(4096);
  std::size_t size_ = 0;
};

}  // namespace megascope::timeline
