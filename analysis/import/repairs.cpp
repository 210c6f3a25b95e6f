#include "analysis/import/repairs.h"

#include <algorithm>

namespace megascope::importer {
namespace {

struct KindText {
  std::string_view name;
  std::string_view what;  ///< "3 operations …"
  std::string_view rule;
};
constexpr KindText kTexts[kRepairKindCount] = {
    {"negative_duration", "operations end before they begin",
     "the sign of the duration was dropped; if operations of this name never have that duration, "
     "the usual one was used"},
    {"missing_duration", "operations have no duration",
     "the usual duration was used, at most until the next operation begins"},
    {"missing_end", "operations have no end",
     "the usual duration was used, at most until the next operation begins"},
    {"missing_begin", "operations have no begin",
     "the usual duration was used, at most since the previous operation ended; operations without "
     "a name were omitted"},
    {"duplicate", "operations occur in the file more than once", "each was read once"},
    {"step_order", "operations have a step number that is out of order",
     "the step number of their neighbours was used"},
    {"overlap", "operations overlap another operation of their track",
     "they are shown in separate rows; no time was changed"},
};
const KindText& text_of(RepairKind kind) { return kTexts[static_cast<std::size_t>(kind)]; }

std::string first_text(const std::string& first) {
  return first.empty() ? std::string() : " (first: " + first + ")";
}

}  // namespace

std::string_view name_of(RepairKind kind) { return text_of(kind).name; }

void Repairs::add(RepairKind kind, const std::string& where) { add(kind, 1, where); }

void Repairs::add(RepairKind kind, std::uint64_t count, const std::string& where) {
  const auto index = static_cast<std::size_t>(kind);
  if (counts_[index] == 0 && count != 0) firsts_[index] = where;
  counts_[index] += count;
}

std::uint64_t Repairs::total() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts_) sum += count;
  return sum - count(RepairKind::kOverlap);
}

Status Repairs::check(bool is_strict) const {
  const auto limit = static_cast<std::uint64_t>(static_cast<double>(event_count_) * kMaxRepaired);
  const std::uint64_t all = total();
  if (all == 0 || (!is_strict && all <= std::max<std::uint64_t>(limit, 1))) return Status::ok();
  std::string text = std::to_string(all) + " of " + std::to_string(event_count_) +
                     " events need repair" +
                     (is_strict ? ", and --strict forbids it: "
                                : ", more than 1 %: the file is damaged or of another format: ");
  std::string_view separator;
  for (std::size_t i = 0; i < kRepairKindCount; ++i) {
    const auto kind = static_cast<RepairKind>(i);
    if (kind == RepairKind::kOverlap || count(kind) == 0) continue;
    text.append(separator)
        .append(std::to_string(count(kind)))
        .append(" ")
        .append(text_of(kind).what)
        .append(first_text(first(kind)));
    separator = "; ";
  }
  return Status::error(text);
}

std::vector<std::string> Repairs::notes() const {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < kRepairKindCount; ++i) {
    const auto kind = static_cast<RepairKind>(i);
    if (count(kind) == 0) continue;
    const KindText& text = text_of(kind);
    notes.push_back(std::to_string(count(kind)) + " " + std::string(text.what) +
                    first_text(first(kind)) + ": " + std::string(text.rule));
  }
  return notes;
}

}  // namespace megascope::importer
