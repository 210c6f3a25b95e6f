#pragma once

#include "core/config/export_formats.h"
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
/// A TCP port to listen on. Not used if is_on is false.
struct Port {
  bool is_on = false;
  std::uint16_t port = 0;  ///< 0: any free port
};
/// A list whose elements another module parses.
struct Items {
  std::vector<std::string> items;
};

#define MEGASCOPE_CHOICE_ENUMERATOR(enumerator, text) enumerator,
#define MEGASCOPE_CHOICE_TEXT(enumerator, text) text "|"
#define MEGASCOPE_FORMAT_TEXT(name, ...) name "|"
enum class BufferPolicy { MEGASCOPE_BUFFER_POLICIES(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class Granularity { MEGASCOPE_GRANULARITIES(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class ClockChoice { MEGASCOPE_CLOCKS(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class Control { MEGASCOPE_CONTROLS(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class Otf2Intercomm { MEGASCOPE_OTF2_INTERCOMMS(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class LiveControl { MEGASCOPE_LIVE_CONTROLS(MEGASCOPE_CHOICE_ENUMERATOR) };
enum class ReportStyle { MEGASCOPE_REPORT_STYLES(MEGASCOPE_CHOICE_ENUMERATOR) };

/// The values that an option accepts; a column of the option table. choices: for words() and
/// list(), the accepted words, each followed by '|'; for items(), a description for users; for
/// range_or(), the word that stands for 0.
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
  static constexpr Accepts range_or(std::uint64_t low, std::uint64_t high, std::string_view word) {
    return {Kind::kRange, low, high, word};
  }
  static constexpr Accepts count(std::uint64_t low, std::uint64_t high) {
    return {Kind::kCount, low, high, {}};
  }
  /// Accepts counts of `low` or more. The upper bound is 2^62, so that the sum of two values fits
  /// 64 bits; users see "unlimited".
  static constexpr Accepts unlimited(std::uint64_t low) { return count(low, kUnlimited); }
  static constexpr Accepts words(std::string_view choices) { return {Kind::kWords, 0, 0, choices}; }
  static constexpr Accepts list(std::string_view choices) { return {Kind::kList, 0, 0, choices}; }
  static constexpr Accepts items(std::string_view what) { return {Kind::kItems, 0, 0, what}; }
  static constexpr Accepts seconds(std::uint64_t most) { return {Kind::kSeconds, 0, most, {}}; }
  static constexpr Accepts port() { return {Kind::kPort, 0, 65535, {}}; }
  static constexpr Accepts on_off() { return {Kind::kSwitch, 0, 0, {}}; }
};

/// One row of the option table, as help, `megascope info` and the documentation show it.
struct OptionRow {
  std::string_view name;           ///< MEGASCOPE_...
  std::string_view default_text;   ///< as a user would write it; may be empty
  std::string_view empty_default;  ///< for users: what is used if the default is empty; else empty
  Accepts accepts;
  std::string_view unit;  ///< "bytes" or empty
  std::string_view help;  ///< complete sentences
  std::string_view example;
};

/// Returns the rows in the order of the table. Static storage. Any thread.
std::span<const OptionRow> option_rows() noexcept;

/// Describes for users what `row` accepts: "1 MiB to 1 TiB", "stop or flight", "1 or 0".
std::string accepted_text(const OptionRow& row);

/// Returns the default as users read it: its text, or the meaning of an empty default.
std::string_view default_for_people(const OptionRow& row) noexcept;

/// Returns the words that `row` accepts, in the order of the table; empty unless it is a choice or
/// a list.
std::vector<std::string_view> choices_of(const OptionRow& row);

/// The values of all options, one member for each row. Use load_options(): a value-initialised
/// object does not hold the defaults.
struct Options {
#define MEGASCOPE_OPTION_MEMBER(member, type, ...) type member{};
  MEGASCOPE_OPTIONS(MEGASCOPE_OPTION_MEMBER)
#undef MEGASCOPE_OPTION_MEMBER
};

#define MEGASCOPE_OPTION_COUNTED(...) +1
inline constexpr std::size_t kOptionCount = 0 MEGASCOPE_OPTIONS(MEGASCOPE_OPTION_COUNTED);
#undef MEGASCOPE_OPTION_COUNTED

/// Origin of the value of an option.
enum class OptionSource {
  kDefault,      ///< the default: the environment has no value
  kEnvironment,  ///< the environment
  kReplaced      ///< the default: the value in the environment is invalid
};

struct LoadedOptions {
  Options values;
  std::array<std::string, kOptionCount>
      texts;  ///< value used for each row, as a user would write it
  std::array<OptionSource, kOptionCount> sources;  ///< origin of each row's value
  std::vector<std::string> problems;               ///< one sentence for the user each

  /// Returns whether the program must not start: MEGASCOPE_STRICT is on and there is a problem.
  bool is_refused() const noexcept { return values.strict && !problems.empty(); }
};

/// Entries "NAME=VALUE", as in `environ`. Entries without '=' are ignored.
using EnvironmentView = std::span<const std::string>;

/// Parses every option. Pure; any thread.
/// - Names without the prefix MEGASCOPE_ are ignored.
/// - An empty value selects the default.
/// - If a name occurs twice, the first entry is used, as getenv does.
/// - An invalid value is replaced by the default, and an unknown name is ignored. Each adds a
///   sentence to `problems` that names the variable, the value, what is accepted and what is used
///   instead.
LoadedOptions load_options(EnvironmentView environment);

/// Returns a POSIX shell script that sets the values used: comments with help and default, then
/// `export`.
std::string dump_options_sh(const LoadedOptions& options);

/// Returns the text of docs/configuration.md.
std::string options_markdown();

}  // namespace megascope::config
