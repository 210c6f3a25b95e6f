#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace megascope::nvtx {

/// Largest size of a message; the rest is ignored.
inline constexpr std::size_t kMaxMessageBytes = 1000;

/// Converts `wchar_t` text (UTF-32) to UTF-8: whole characters up to kMaxMessageBytes; invalid
/// characters become U+FFFD. Allocates nothing.
class WideText {
 public:
  /// text: zero-terminated; null: empty text.
  explicit WideText(const wchar_t* text) noexcept {
    if (text == nullptr) return;
    while (*text != 0 && append(static_cast<char32_t>(*text))) ++text;
  }
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  bool append(char32_t character) noexcept {
    if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) character = 0xFFFD;
    const std::size_t more = character < 0x80      ? 0
                             : character < 0x800   ? 1
                             : character < 0x10000 ? 2
                                                   : 3;
    if (size_ + 1 + more > bytes_.size()) return false;
    constexpr std::array<unsigned, 4> kFirst = {0, 0xC0, 0xE0, 0xF0};
    bytes_[size_++] = static_cast<char>(kFirst[more] | (character >> (6 * more)));
    for (std::size_t i = more; i-- > 0;)
      bytes_[size_++] = static_cast<char>(0x80 | (character >> (6 * i) & 0x3F));
    return true;
  }

  std::array<char, kMaxMessageBytes> bytes_;
  std::size_t size_ = 0;
};

}  // namespace megascope::nvtx
