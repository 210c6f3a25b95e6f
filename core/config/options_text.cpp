#include "core/base/text.h"
#include "core/config/options.h"

// Texts about options: the dump in the run directory and the documentation.

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

}  // namespace

std::string dump_options_sh(const LoadedOptions& options) {
  std::string text = "# The option values of this run. To set them again: . ./options.sh\n";
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
      "MegaScope is configured by environment variables. All ranks should have the same values; "
      "jobs do not hang if they differ.\n"
      "An empty value selects the default. An invalid value is replaced by the default, and an "
      "unknown name is ignored; rank 0\n"
      "reports both once, and `MEGASCOPE_STRICT=1` makes them fatal. Elements of lists are "
      "separated by `,`, `+` or `:`, because\n"
      "`srun --export` splits at commas. Each run directory has the values used as `options.sh`, "
      "which a shell can source.\n\n"
      "| variable | default | accepted | example |\n|---|---|---|---|\n";
  for (const OptionRow& row : option_rows()) {
    const std::string shown_default = row.default_text.empty() ? cell(row.empty_default)
                                                               : code(row.default_text);
    text += "| [" + code(row.name) + "](#" + lower_case(row.name) + ") | " + shown_default + " | " +
            cell(accepted_text(row)) + " | " + code(row.example) + " |\n";
  }
  for (const OptionRow& row : option_rows()) {
    text += "\n## " + std::string(row.name) + "\n\n" + std::string(row.help) + "\n\n";
    text += "Default: " + cell(default_for_people(row)) +
            ". Accepted: " + cell(accepted_text(row)) + ".";
    if (!row.unit.empty()) text += " Unit: " + std::string(row.unit) + ".";
    text += " Example: `" + std::string(row.name) + "=" + std::string(row.example) + "`.\n";
  }
  return text;
}

}  // namespace megascope::config
