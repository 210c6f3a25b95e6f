#pragma once

#include "core/base/text.h"
#include "core/base/text_table.h"
#include "exporters/report/run_report.h"
#include "exporters/report/shares.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The sections of the text report. Each function returns the lines of a section, without blank
/// lines around them. The result is empty if the section has nothing to report.
namespace megascope::report {

/// The complete communication matrix is shown for runs of up to this number of ranks.
inline constexpr std::size_t kMatrixRanks = 8;

/// Maximum rows of each section, without title. to_text() reduces them until the report fits.
struct RowLimits {
  std::size_t ranks = kMatrixRanks;
  std::size_t functions = 10;
  std::size_t regions = 8;
  std::size_t comms = 6;
  std::size_t files = 5;
  std::size_t call_sites = 20;
  std::size_t pairs = 5;
  std::size_t waits = 5;
  std::size_t pending = 8;
  std::size_t notes = 8;
  std::size_t exports = 8;
};

/// Returns the label followed by the text, wrapped and aligned. At most `most` columns of the text
/// are used; the rest is omitted.
Lines labelled(const std::string& label, const std::string& text,
               std::size_t most = 4 * kTextColumns);
/// Returns the world ranks without a trace, ascending.
std::vector<std::int32_t> missing_ranks(const RunReport& report);
/// Returns a time as text, for example "2026-11-20 14:03:11 UTC"; empty if the time is unknown.
std::string time_text(std::int64_t realtime_ns);
std::uint64_t call_count(const RunReport& report);

Lines facts_section(const RunReport& report, const TimeShares& shares);
Lines share_section(const RunReport& report, const TimeShares& shares);
/// Mismatched collectives, and where to find details.
Lines collective_section(const RunReport& report);
Lines rank_section(const RunReport& report, const TimeShares& shares, const RowLimits& limits);
Lines function_section(const RunReport& report, const RowLimits& limits);
/// Regions annotated by the application.
Lines region_section(const RunReport& report, const RowLimits& limits);
Lines comm_section(const RunReport& report, const RowLimits& limits);
Lines file_section(const RunReport& report, const RowLimits& limits);
Lines call_site_section(const RunReport& report, const RowLimits& limits);
Lines size_section(const RunReport& report);
Lines pair_section(const RunReport& report, const RowLimits& limits);
Lines wait_section(const RunReport& report, const RowLimits& limits);
Lines pending_section(const RunReport& report, const RowLimits& limits);
Lines loss_section(const RunReport& report);
Lines note_section(const RunReport& report, const RowLimits& limits);
Lines output_section(const RunReport& report, const RowLimits& limits);
/// The root cause of slowness, or the command that finds it.
Lines verdict_section(const RunReport& report);

}  // namespace megascope::report
