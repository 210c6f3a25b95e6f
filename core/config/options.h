#pragma once

#include "core/config/option_table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::config {

using Path = std::string;
using SizeBytes = std::uint64_t;
using Names = std::vector<std::string>;
struct Count {
  std::uint64_t value = 0;
};
struct Seconds {
  double value = 0.0;
};
/// A TCP port to listen on, or off.
struct Port {
  bool is_on = false;
  std::uint16_t port = 0;  ///< 0: any that is free
};
/// A list whose words somebody else understands.
struct Items {
  std::vector<std::string> items;
};

#define MEGASCOPE_CHOICE_ENUMERATOR(enumerator, text) enumerator,
#define MEGASCOPE_CHOICE_TEXT(enumerator, text) text "|"
enum class BufferPolicy { MEGASCOPE_BUFFER_POLICIES(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class Granularity { MEGASCOPE_GRANULARITIES(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class ClockChoice { MEGASCOPE_CLOCKS(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class Control { MEGASCOPE_CONTROLS(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class Otf2Intercomm { MEGASCOPE_OTF2_INTERCOMMS(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class LiveControl { MEGASCOPE_LIVE_CONTROLS(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class ReportStyle { MEGASCOPE_REPORT_STYLES(MEGASCOPE_CHOICE_ENUMERATOR) };

/// What an option accepts. Plain constants of the table; `words` ends each word with '|', `items`
/// says it for people.
struct Accepts {
  enum class Kind { kAnything, kRange, kCount, kSeconds, kWords, kList, kItems, kSwitch, kPort };
  static constexpr std::uint64_t kUnlimited = 1ULL << 62;

  Kind kind = Kind::kAnything;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::string_view choices;

  static constexpr Accepts anything() { return {}; }
  static constexpr Accepts range(std::uint64_t low, std::uint64_t high) {
    return {Kind::kRange, low, high, {}};
  }
  static constexpr Accepts count(std::uint64_t low, std::uint64_t high) {
    return {Kind::kCount, low, high, {}};
  }
  /// From `low` on. The bound 2^62 keeps sums of two values within 64 bits; users see "unlimited".
  static constexpr Accepts unlimited(std::uint64_t low) { return count(low, kUnlimited); }
  static constexpr Accepts words(std::string_view choices) { return {Kind::kWords, 0, 0, choices}; }
  static constexpr Accepts list(std::string_view choices) { return {Kind::kList, 0, 0, choices}; }
  static constexpr Accepts items(std::string_view what) { return {Kind::kItems, 0, 0, what}; }
  static constexpr Accepts seconds(std::uint64_t most) { return {Kind::kSeconds, 0, most, {}}; }
  static constexpr Accepts port() { return {Kind::kPort, 0, 65535, {}}; }
  static constexpr Accepts on_off() { return {Kind::kSwitch, 0, 0, {}}; }
};

/// One row of the table, for those who show it: help, `megascope info`, documentation.
struct OptionRow {
  std::string_view name;           ///< MEGASCOPE_...
  std::string_view default_text;   ///< as a user would write it; may be empty
  std::string_view empty_default;  ///< what an empty default means, else empty
  Accepts accepts;
  std::string_view unit;  ///< "bytes" or empty
  std::string_view help;  ///< complete sentences
  std::string_view example;
};

/// The rows in the order of the table. Static storage; any thread.
std::span<const OptionRow> option_rows() noexcept;

/// What `row` accepts, for people: "1 MiB to 1 TiB", "stop or flight", "1 or 0".
std::string accepted_text(const OptionRow& row);

/// The default for people: its text, or what an empty one means.
std::string_view default_for_people(const OptionRow& row) noexcept;

/// The words of `row`, in the order of the table; none when it is no choice and no list.
std::vector<std::string_view> choices_of(const OptionRow& row);

/// The values, one member a row. Made by `load_options`; value-initialised it does not hold the
/// defaults.
struct Options {
#define MEGASCOPE_OPTION_MEMBER(member, type, ...) type member{};
  MEGASCOPE_OPTIONS(MEGASCOPE_OPTION_MEMBER)
#undef MEGASCOPE_OPTION_MEMBER
};

#define MEGASCOPE_OPTION_COUNTED(...) +1
inline constexpr std::size_t kOptionCount = 0 MEGASCOPE_OPTIONS(MEGASCOPE_OPTION_COUNTED);
#undef MEGASCOPE_OPTION_COUNTED

/// Where a value comes from. kReplaced: the environment had a bad one, the default is used.
enum class OptionSource { kDefault, kEnvironment, kReplaced };

struct LoadedOptions {
  Options values;
  std::array<std::string, kOptionCount>
      texts;  ///< the value used of each row, as a user would write it
  std::array<OptionSource, kOptionCount> sources;  ///< of each row
  std::vector<std::string> problems;               ///< one sentence each, for the user

  /// MEGASCOPE_STRICT is on and there is a problem: the program shall not go on.
  bool is_refused() const noexcept { return values.strict && !problems.empty(); }
};

/// "NAME=VALUE", as in `environ`. Entries of other shape are passed over.
using EnvironmentView = std::span<const std::string>;

/// Reads every option. Pure: the same list gives the same result; any thread.
/// Names without MEGASCOPE_ are not looked at. An empty value is the default. Of a name twice the
/// first counts, as in getenv. A bad value is replaced by the default, an unknown name is ignored;
/// each is one sentence in `problems` that says so: variable, value, what is accepted, what is used
/// instead.
LoadedOptions load_options(EnvironmentView environment);

/// The values used, as a POSIX shell script that sets them again: comments with help and default,
/// then `export`.
std::string dump_options_sh(const LoadedOptions& options);

/// The whole of docs/configuration.md.
std::string options_markdown();

}  // namespace megascope::config
