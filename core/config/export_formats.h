#pragma once

#include <array>
#include <string_view>

/// The table of export formats. Values of MEGASCOPE_EXPORT and `megascope export`, and what the
/// report and the exports know of a format, follow from its row.
///
/// X(name, opened_with, shows, when): name is also that of the module, `libmegascope_<name>.so`;
/// opened_with names readers of the format, for users; shows and when are values of FormatShows and
/// FormatWhen.

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
  kRecords,
  kFindings,  ///< and wait states and findings (ExportJob::annotations)
};

enum class FormatWhen : unsigned char {
  kOnRequest,
  kByDefault,  ///< and at the end of small runs if MEGASCOPE_EXPORT is not set
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

/// Returns the row of a format; one without capabilities for a name that is not in the table, such
/// as one in the report of a later version.
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
