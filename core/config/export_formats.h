#pragma once

#include <array>
#include <string_view>

/// The table of export formats. A row makes a format a valid value of MEGASCOPE_EXPORT and of
/// `megascope export`, and holds the properties that the report and the exports use.
///
/// X(name, opened_with, shows, when). name: the value that users write; the module is
/// `libmegascope_<name>.so`. opened_with: programs that read the format, for users. shows: a
/// FormatShows. when: a FormatWhen.

// clang-format off: rows read better as rows

/// Formats that can be written at the end of a run, where each process has its own records only.
#define MEGASCOPE_FORMATS_AT_EXIT(X)                              \
  X("otf2", "Vampir, or otf2-print", kRecords, kByDefault)        \
  X("perfetto", "https://ui.perfetto.dev", kFindings, kByDefault) \
  X("chrome", "https://ui.perfetto.dev or chrome://tracing", kFindings, kOnRequest)

/// Formats that need the traces of all ranks. Only `megascope export` writes them.
#define MEGASCOPE_FORMATS_OF_WHOLE_RUNS(X) X("megascan", "", kRecords, kOnRequest)

// clang-format on

namespace megascope::config {

enum class FormatShows : unsigned char {
  kRecords,   ///< the format shows recorded data only
  kFindings,  ///< in addition, wait states and findings (ExportJob::annotations)
};

enum class FormatWhen : unsigned char {
  kOnRequest,  ///< written only if the user requests the format
  kByDefault,  ///< in addition, written at the end of small runs if MEGASCOPE_EXPORT is not set
};

struct ExportFormat {
  std::string_view name;
  std::string_view opened_with;
  FormatShows shows = FormatShows::kRecords;
  FormatWhen when = FormatWhen::kOnRequest;
};

#define MEGASCOPE_FORMAT_ROW(name, opened_with, shows, when) \
  ExportFormat{name, opened_with, FormatShows::shows, FormatWhen::when},
inline constexpr auto kExportFormats = std::to_array<ExportFormat>({MEGASCOPE_FORMATS_AT_EXIT(
    MEGASCOPE_FORMAT_ROW) MEGASCOPE_FORMATS_OF_WHOLE_RUNS(MEGASCOPE_FORMAT_ROW)});
#undef MEGASCOPE_FORMAT_ROW

/// Returns the row of a format. For a name that is not in the table, such as one in the report of a
/// later version, returns a row with kRecords and kOnRequest.
constexpr ExportFormat export_format(std::string_view name) noexcept {
  for (const ExportFormat& format : kExportFormats) {
    if (format.name == name) return format;
  }
  return {name, "", FormatShows::kRecords, FormatWhen::kOnRequest};
}

/// Returns whether the format can show wait states and findings.
constexpr bool can_show_findings(std::string_view format) noexcept {
  return export_format(format).shows == FormatShows::kFindings;
}

}  // namespace megascope::config
