#include "core/config/options.h"

#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <type_traits>

namespace megascope::config {
namespace {

constexpr std::string_view kPrefix = "MEGASCOPE_";
constexpr std::size_t kShownValueBytes = 80;

#define MEGASCOPE_OPTION_ROW(member, type, name, default_text, empty_default, accepts, unit, help, \
                             example)                                                              \
  OptionRow{name, default_text, empty_default, accepts, unit, help, example},
constexpr std::array<OptionRow, kOptionCount> kRows = {MEGASCOPE_OPTIONS(MEGASCOPE_OPTION_ROW)};
#undef MEGASCOPE_OPTION_ROW

/// Returns `value` without control characters and cut to kShownValueBytes, for messages.
std::string printable(std::string_view value) {
  std::string text(value.substr(0, kShownValueBytes));
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return value.size() > kShownValueBytes ? text + "..." : text;
}

std::optional<std::size_t> choice_index(const OptionRow& row, std::string_view text) {
  const std::vector<std::string_view> choices = choices_of(row);
  const auto found = std::find(choices.begin(), choices.end(), lower_case(trimmed(text)));
  if (found == choices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - choices.begin());
}

// One parse() for each type. Returns false and leaves `value` unchanged if `text` is not accepted.

bool parse(const OptionRow&, std::string_view text, Path& value) {
  value = std::string(text);
  return true;
}

bool parse(const OptionRow&, std::string_view text, bool& value) {
  const std::optional<bool> parsed = parse_bool(text);
  value = parsed.value_or(value);
  return parsed.has_value();
}

bool parse(const OptionRow& row, std::string_view text, SizeBytes& value) {
  if (!row.accepts.choices.empty() && lower_case(trimmed(text)) == row.accepts.choices) {
    value = 0;
    return true;
  }
  const std::optional<std::uint64_t> parsed = parse_size_bytes(text);
  if (!parsed || *parsed < row.accepts.least || *parsed > row.accepts.most) return false;
  value = *parsed;
  return true;
}

bool parse(const OptionRow& row, std::string_view text, Count& value) {
  const std::string_view number = trimmed(text);
  std::uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parsed);
  const bool is_number = error == std::errc{} && end == number.data() + number.size();
  if (!is_number || parsed < row.accepts.least || parsed > row.accepts.most) return false;
  value.value = parsed;
  return true;
}

bool parse(const OptionRow& row, std::string_view text, Port& value) {
  value = {};
  if (lower_case(trimmed(text)) == "off") return true;
  Count number;
  if (!parse(row, text, number)) return false;
  value = {.is_on = true, .port = static_cast<std::uint16_t>(number.value)};
  return true;
}

bool parse(const OptionRow& row, std::string_view text, Names& value) {
  Names names;
  for (const std::string& part : split_list(text)) {
    const std::string name = lower_case(part);
    if (!choice_index(row, name)) return false;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const bool says_none = std::find(names.begin(), names.end(), "none") != names.end();
  if (says_none && names.size() > 1) return false;
  value = std::move(names);
  return true;
}

bool parse(const OptionRow& row, std::string_view text, Seconds& value) {
  const std::string_view number = trimmed(text);
  double parsed = 0.0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parsed);
  const bool is_number = error == std::errc{} && end == number.data() + number.size();
  if (!is_number || !(parsed >= 0.0 && parsed <= static_cast<double>(row.accepts.most)))
    return false;
  value.value = parsed;
  return true;
}

bool parse(const OptionRow&, std::string_view text, Items& value) {
  value.items = split_list(text);
  return true;
}

template <class Choice>
requires std::is_enum_v<Choice>
bool parse(const OptionRow& row, std::string_view text, Choice& value) {
  const std::optional<std::size_t> index = choice_index(row, text);
  if (index) value = static_cast<Choice>(*index);
  return index.has_value();
}

std::optional<std::string_view> find_value(EnvironmentView environment, std::string_view name) {
  for (const std::string& entry : environment) {
    const std::string_view view = entry;
    if (view.size() > name.size() && view.starts_with(name) && view[name.size()] == '=')
      return view.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string bad_value_text(const OptionRow& row, std::string_view value) {
  std::string text = std::string(row.name) + "=" + printable(value) + ": expected " +
                     accepted_text(row) + "; ";
  if (row.default_text.empty())
    return text + "the default is used: " + std::string(row.empty_default);
  return text + "the default is used: " + std::string(row.default_text);
}

template <class Value>
void load_row(std::size_t index, EnvironmentView environment, Value& value, LoadedOptions& loaded) {
  const OptionRow& row = kRows[index];
  const std::string_view given = find_value(environment, row.name).value_or(std::string_view{});
  loaded.texts[index] = std::string(row.default_text);
  loaded.sources[index] = OptionSource::kDefault;
  parse(row, row.default_text, value);
  if (given.empty()) return;
  if (parse(row, given, value)) {
    loaded.texts[index] = std::string(given);
    loaded.sources[index] = OptionSource::kEnvironment;
    return;
  }
  loaded.sources[index] = OptionSource::kReplaced;
  loaded.problems.push_back(bad_value_text(row, given));
}

std::string unknown_name_text(std::string_view name) {
  std::vector<std::string_view> known;
  for (const OptionRow& row : kRows) known.push_back(row.name.substr(kPrefix.size()));
  const std::string shown = printable(name);
  const std::string_view nearest = nearest_name(std::string_view(shown).substr(kPrefix.size()),
                                                known);
  const std::string text = shown + " is not an option and is ignored";
  if (nearest.empty()) return text + "; `megascope info` lists the options";
  return text + ": did you mean " + std::string(kPrefix) + std::string(nearest) + "?";
}

void find_unknown_names(EnvironmentView environment, std::vector<std::string>& problems) {
  for (const std::string& entry : environment) {
    const std::size_t name_bytes = entry.find('=');
    if (name_bytes == std::string::npos) continue;
    const std::string_view name = std::string_view(entry).substr(0, name_bytes);
    const auto is_this = [name](const OptionRow& row) { return row.name == name; };
    if (name.starts_with(kPrefix) && std::none_of(kRows.begin(), kRows.end(), is_this))
      problems.push_back(unknown_name_text(name));
  }
}

}  // namespace

std::span<const OptionRow> option_rows() noexcept { return kRows; }

std::vector<std::string_view> choices_of(const OptionRow& row) {
  std::vector<std::string_view> choices;
  if (row.accepts.kind != Accepts::Kind::kWords && row.accepts.kind != Accepts::Kind::kList)
    return choices;
  for (std::string_view rest = row.accepts.choices; !rest.empty();) {
    const std::size_t end = rest.find('|');
    choices.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return choices;
}

std::string accepted_text(const OptionRow& row) {
  std::vector<std::string> words;
  for (const std::string_view word : choices_of(row)) words.emplace_back(word);
  switch (row.accepts.kind) {
    case Accepts::Kind::kAnything:
      return "a path";
    case Accepts::Kind::kSwitch:
      return "1 or 0 (on/off, true/false, yes/no)";
    case Accepts::Kind::kRange:
      return "a size from " + human_bytes(row.accepts.least) + " to " +
             human_bytes(row.accepts.most) +
             (row.accepts.choices.empty() ? "" : ", or " + std::string(row.accepts.choices));
    case Accepts::Kind::kCount:
      if (row.accepts.most == Accepts::kUnlimited)
        return "a whole number from " + std::to_string(row.accepts.least) + ", unlimited";
      return "a whole number from " + std::to_string(row.accepts.least) + " to " +
             std::to_string(row.accepts.most);
    case Accepts::Kind::kWords:
      return "one of " + joined(words, ", ");
    case Accepts::Kind::kItems:
      return std::string(row.accepts.choices);
    case Accepts::Kind::kSeconds:
      return "a number of seconds from 0 to " + std::to_string(row.accepts.most);
    case Accepts::Kind::kPort:
      return "a port from 1 to " + std::to_string(row.accepts.most) +
             ", 0 for any free port, or off";
    case Accepts::Kind::kList:
      return "a list of " + joined(words, ", ") + " (none only by itself)";
  }
  return {};
}

std::string_view default_for_people(const OptionRow& row) noexcept {
  return row.default_text.empty() ? row.empty_default : row.default_text;
}

LoadedOptions load_options(EnvironmentView environment) {
  LoadedOptions loaded;
  std::size_t index = 0;
#define MEGASCOPE_OPTION_LOAD(member, ...) \
  load_row(index++, environment, loaded.values.member, loaded);
  MEGASCOPE_OPTIONS(MEGASCOPE_OPTION_LOAD)
#undef MEGASCOPE_OPTION_LOAD
  find_unknown_names(environment, loaded.problems);
  return loaded;
}

}  // namespace megascope::config
