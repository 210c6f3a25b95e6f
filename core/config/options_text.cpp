#include "core/base/text.h"
#include "core/config/options.h"

// Generates options.sh of a run directory and docs/configuration.md.

namespace megascope::config {
namespace {

std::string_view source_text(OptionSource source) noexcept {
  switch (source) {
    case OptionSource::kDefault:
      return "default";
    case OptionSource::kEnvironment:
      return "set in the environment";
    case OptionSource::kReplaced:
      return "default, because the given value is invalid";
  }
  return {};
}

/// Escapes `text` for a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

/// `text` with line breaks in place of blanks, at most 118 bytes a line if no word is longer.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kMaxLineBytes = 118;
  std::string lines;
  while (text.size() > kMaxLineBytes) {
    std::size_t end = text.rfind(' ', kMaxLineBytes);
    if (end == std::string_view::npos) end = text.find(' ', kMaxLineBytes);
    if (end == std::string_view::npos) break;
    lines += std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return lines + std::string(text);
}

}  // namespace

std::string dump_options_sh(const LoadedOptions& options) {
  std::string text = "# The options of this run. To use them again: . ./options.sh\n";
  for (std::size_t i = 0; i < kOptionCount; ++i) {
    const OptionRow& row = option_rows()[i];
    text += "\n# " + std::string(row.help) + "\n# Default: " + std::string(default_for_people(row));
    text += ". This value: " + std::string(source_text(options.sources[i])) + ".\n";
    text += "export " + std::string(row.name) + "=" + shell_quoted(options.texts[i]) + "\n";
  }
  return text;
}

std::string options_markdown() {
  std::string text =
      "# Configuration\n\n"
      "<!-- Generated from core/config/option_table.h: cmake --build --preset dev --target "
      "megascope_gen_docs -->\n\n"
      "MegaScope is configured by environment variables. Set the same values on all ranks; a job "
      "whose ranks have\ndifferent values does not hang. Rank 0 prints problems with the options "
      "once.\n\n"
      "- An empty value means the default.\n"
      "- An invalid value is replaced by the default. An unknown name is ignored. A message is "
      "printed in both cases;\n  with `MEGASCOPE_STRICT=1` the program ends.\n"
      "- Lists accept `,`, `+` and `:` as separators, because `srun --export` splits its value at "
      "commas.\n"
      "- The run directory contains the values used in `options.sh`, a file that a shell can "
      "source.\n\n"
      "| variable | default | accepted | example |\n|---|---|---|---|\n";
  for (const OptionRow& row : option_rows()) {
    const std::string shown_default = row.default_text.empty() ? cell(row.empty_default)
                                                               : code(row.default_text);
    text += "| [" + code(row.name) + "](#" + lower_case(row.name) + ") | " + shown_default + " | " +
            cell(accepted_text(row)) + " | " + code(row.example) + " |\n";
  }
  for (const OptionRow& row : option_rows()) {
    std::string facts = "Default: " + cell(default_for_people(row)) +
                        ". Accepted: " + cell(accepted_text(row)) + ".";
    if (!row.unit.empty()) facts += " Unit: " + std::string(row.unit) + ".";
    facts += " Example: `" + std::string(row.name) + "=" + std::string(row.example) + "`.";
    text += "\n## " + std::string(row.name) + "\n\n" + wrapped(row.help) + "\n\n" + wrapped(facts) +
            "\n";
  }
  return text;
}

}  // namespace megascope::config
