#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

namespace megascope {
namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

char lowered(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Returns the power of 1024 that a unit such as "k", "kib" or "b" stands for; nullopt: not a unit.
std::optional<int> binary_exponent(std::string_view unit) noexcept {
  constexpr std::string_view kPrefixes = "kmgtp";
  if (unit.empty() || unit == "b") return 0;
  const std::size_t prefix = kPrefixes.find(unit[0]);
  if (prefix == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  if (!rest.empty() && rest != "b" && rest != "ib" && rest != "i") return std::nullopt;
  return static_cast<int>(prefix) + 1;
}

/// Formats `value` with so many decimals and a decimal point, independent of the locale.
std::string with_decimals(double value, int decimals) {
  std::array<char, 400> buffer{};  // a double has at most 309 digits before the point
  const std::to_chars_result end = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                                 value, std::chars_format::fixed, decimals);
  return {buffer.data(), end.ptr};
}

/// Formats `value` with three significant digits and without trailing zeros: 1.2, 15, 123.
std::string three_digits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string text = with_decimals(value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

/// Formats `value` in the largest of `units` in which it is at least 1. Each unit is `factor` times
/// the previous one.
template <std::size_t N>
std::string scaled(double value, double factor, const std::array<std::string_view, N>& units) {
  std::size_t unit = 0;
  // A value of 999.5 would be shown as 1000: use the next unit.
  while (unit + 1 < N && value >= (factor == 1000.0 ? 999.5 : 1023.5)) {
    value /= factor;
    ++unit;
  }
  std::string text = three_digits(value);
  if (!units[unit].empty()) text.append(" ").append(units[unit]);
  return text;
}

std::string two_units(std::uint64_t large, const char* large_unit, std::uint64_t small,
                      const char* small_unit) {
  std::string text = std::to_string(large) + " " + large_unit;
  if (small != 0) text += " " + std::to_string(small) + " " + small_unit;
  return text;
}

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(",+:"), text.size());
    const std::string_view part = trimmed(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), lowered);
  return lower;
}

std::optional<std::uint64_t> parse_size_bytes(std::string_view text) {
  const std::string lower = lower_case(trimmed(text));
  if (lower.empty() || lower[0] < '0' || lower[0] > '9')
    return std::nullopt;  // no sign, "inf" or ".5"
  double number = 0;
  const char* const end = lower.data() + lower.size();
  const auto [rest, error] = std::from_chars(lower.data(), end, number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  const auto exponent = binary_exponent(
      trimmed(std::string_view(rest, static_cast<std::size_t>(end - rest))));
  if (!exponent) return std::nullopt;
  const double size = std::ldexp(number, 10 * *exponent);
  if (size >= std::ldexp(1.0, 63)) return std::nullopt;
  return static_cast<std::uint64_t>(size);
}

std::optional<std::uint64_t> parse_count(std::string_view text) noexcept {
  text = trimmed(text);
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (text.empty() || error != std::errc{} || rest != end) return std::nullopt;
  return count;
}

std::optional<bool> parse_bool(std::string_view text) {
  const std::string lower = lower_case(trimmed(text));
  for (const char* yes : {"1", "on", "true", "yes"}) {
    if (lower == yes) return true;
  }
  for (const char* no : {"0", "off", "false", "no"}) {
    if (lower == no) return false;
  }
  return std::nullopt;
}

std::string human_bytes(std::uint64_t size_bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  if (size_bytes < 1024) return std::to_string(size_bytes) + " B";
  return scaled(static_cast<double>(size_bytes), 1024.0, kUnits);
}

std::string human_duration(std::int64_t duration_ns) {
  static constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  if (duration_ns == 0) return "0 s";
  const std::uint64_t ns = duration_ns < 0
                               ? std::uint64_t{0} - static_cast<std::uint64_t>(duration_ns)
                               : static_cast<std::uint64_t>(duration_ns);
  const std::string sign = duration_ns < 0 ? "-" : "";
  const std::uint64_t seconds = (ns + 500'000'000) / 1'000'000'000;
  if (seconds >= 3600) return sign + two_units(seconds / 3600, "h", seconds % 3600 / 60, "min");
  if (seconds >= 120) return sign + two_units(seconds / 60, "min", seconds % 60, "s");
  return sign + scaled(static_cast<double>(ns), 1000.0, kUnits);
}

std::string human_count(std::uint64_t count) {
  static constexpr std::array<std::string_view, 7> kUnits = {"", "k", "M", "G", "T", "P", "E"};
  if (count < 1000) return std::to_string(count);
  return scaled(static_cast<double>(count), 1000.0, kUnits);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string_view nearest_name(std::string_view name,
                              const std::vector<std::string_view>& candidates) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty() || &part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

std::string percent_text(double share) {
  const double percent = 100.0 * share;
  if (percent != 0 && percent < 0.01) return "< 0.01 %";
  if (percent != 0 && percent < 0.995) return with_decimals(percent, 2) + " %";
  return with_decimals(percent, percent != 0 && percent < 9.95 ? 1 : 0) + " %";
}

std::string rank_list(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMaxParts = 12;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (parts.size() == kMaxParts) {
      parts.emplace_back("...");
      break;
    }
    const char* const between = end - i == 2 ? ", " : "-";
    std::string part = std::to_string(ranks[i]);
    if (end - i > 1) part += between + std::to_string(ranks[end - 1]);
    parts.push_back(std::move(part));
    i = end;
  }
  return joined(parts, ", ");
}

}  // namespace megascope
