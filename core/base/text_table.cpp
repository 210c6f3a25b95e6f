#include "core/base/text_table.h"

#include <algorithm>
#include <cstdint>

namespace megascope {
namespace {

/// The first code point of a text and its length in bytes; 0 bytes if the text does not begin with
/// a valid one (RFC 3629).
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

CodePoint front(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  std::uint32_t value = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  const bool is_too_long = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (is_too_long || is_surrogate || value > 0x10FFFF) return {};
  return {value, size};
}

bool is_harmless(std::uint32_t value) {
  if (value < 0x20 || (value >= 0x7F && value < 0xA0)) return false;
  const bool is_direction = value == 0x61C || value == 0x200E || value == 0x200F ||
                            (value >= 0x2028 && value <= 0x202E) ||
                            (value >= 0x2066 && value <= 0x2069);
  return !is_direction;
}

std::string cut(const std::string& text, std::size_t columns) {
  if (display_width(text) <= columns) return text;
  constexpr std::string_view kDots = "...";
  if (columns <= kDots.size()) return std::string(kDots.substr(0, columns));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < columns - kDots.size(); ++i)
    bytes += front(std::string_view(text).substr(bytes)).bytes;
  return text.substr(0, bytes) + std::string(kDots);
}

}  // namespace

std::string printable(std::string_view text, std::size_t columns) {
  std::string safe;
  while (!text.empty()) {
    const CodePoint point = front(text);
    const std::size_t bytes = std::max<std::size_t>(1, point.bytes);
    if (point.bytes != 0 && is_harmless(point.value)) {
      safe += text.substr(0, bytes);
    } else {
      safe += '?';
    }
    text.remove_prefix(bytes);
  }
  return cut(safe, columns);
}

std::string printable_end(std::string_view whole, std::size_t columns) {
  const std::string text = printable(whole, whole.size());
  if (display_width(text) <= columns) return text;
  std::size_t at = text.size();
  for (std::size_t shown = 0; shown < columns - 3; ++shown) {
    --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  }
  return "..." + text.substr(at);
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80;
  }));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string word = cut(std::string(text.substr(0, end)), columns);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(word) > columns)
      lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i] = printable(cells[i], columns_[i].max_columns);
  rows_.push_back(std::move(cells));
}

std::string Table::line(const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths, std::size_t indent) const {
  std::string text(indent, ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(widths[i] - display_width(cells[i]), ' ');
    if (i > 0) text += "  ";
    text += columns_[i].align == Align::kLeft ? cells[i] + blanks : blanks + cells[i];
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<std::string> Table::lines(std::size_t indent) const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    widths.push_back(display_width(columns_[i].title));
    for (const std::vector<std::string>& row : rows_)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::vector<std::string> lines = {line(titles, widths, indent)};
  for (const std::vector<std::string>& row : rows_) lines.push_back(line(row, widths, indent));
  return lines;
}

}  // namespace megascope
