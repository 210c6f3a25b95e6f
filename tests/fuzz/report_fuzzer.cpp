// Any bytes give a profile and a report, or an error; what was accepted serializes to the same
// again, merges, and fits the screen.

#include "core/profile/profile.h"
#include "exporters/report/run_report.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

void try_profile(std::span<const std::byte> bytes) {
  megascope::Profile profile;
  if (!profile.parse(bytes).is_ok()) return;
  std::vector<std::byte> again;
  profile.serialize(again);
  megascope::Profile second;
  if (!second.parse(again).is_ok() || second.rows() != profile.rows()) std::abort();
  second.merge(profile);
  if (second.rows().size() > megascope::kMaxProfileKeys + 1100) std::abort();
}

void try_report(std::span<const std::byte> bytes) {
  megascope::report::RunReport report;
  if (!parse(bytes, report).is_ok()) return;
  std::vector<std::byte> again;
  serialize(report, again);
  megascope::report::RunReport second;
  if (!parse(again, second).is_ok() || !(second == report)) std::abort();
  merge(second, report);
  again.clear();
  serialize(second, again);
  if (!parse(again, report).is_ok()) std::abort();
  const std::string text = to_text(report);
  std::size_t lines = 0;
  for (const char c : text) lines += c == '\n' ? 1U : 0U;
  if (lines > 60 || to_json(report).empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size_bytes) {
  const auto input = std::as_bytes(std::span(bytes, size_bytes));
  try_profile(input);
  try_report(input);
  return 0;
}
