#include "analysis/import/whole_event.h"

#include <cmath>

namespace megascope::importer {

Status read_whole(const JsonEvent& event, double max_us, WholeEvent& whole) {
  const std::optional<double> begin_us = event.number("ts");
  if (!begin_us) return Status::error("\"ts\" is missing or not a number");
  if (!(std::fabs(*begin_us) <= max_us)) return Status::error("\"ts\" is out of range");
  if (event.text("name").empty()) return Status::error("\"name\" is missing or empty");
  if (!event.text("dur").empty() || event.list("dur") != nullptr)
    return Status::error("\"dur\" is not a number");
  const Thousandths begin = *event.thousandths("ts");
  const std::optional<Thousandths> length = event.thousandths("dur");
  const double length_us = event.number("dur").value_or(0.0);
  if (!(std::fabs(length_us) <= max_us)) return Status::error("\"dur\" is out of range");
  whole = {rounded(begin), rounded(begin), std::nullopt};
  if (!length) {
    whole.repair = {RepairKind::kMissingDuration, Estimate::Of::kEnd};
  } else if (length_us < 0) {
    whole.end_ns -= rounded(*length);
    whole.repair = {RepairKind::kNegativeDuration, Estimate::Of::kSign};
  } else {
    whole.end_ns = rounded(begin, *length);
  }
  return Status::ok();
}

void keep(Timeline& timeline, Operation operation, const WholeEvent& whole,
          const std::string& where) {
  if (whole.repair) {
    timeline.repairs.add(whole.repair->kind, where);
    timeline.estimates.push_back(
        {static_cast<std::uint32_t>(timeline.operations.size()), whole.repair->of});
  }
  operation.begin_ns = static_cast<std::uint64_t>(whole.begin_ns);
  operation.end_ns = static_cast<std::uint64_t>(whole.end_ns);
  timeline.operations.push_back(operation);
}

}  // namespace megascope::importer
