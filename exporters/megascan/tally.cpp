#include "exporters/megascan/tally.h"

#include "core/base/text.h"

#include <cstring>

namespace megascope::megascan {

void Tally::add(const Tally& other) {
  rows += other.rows;
  bytes += other.bytes;
  calls += other.calls;
  cut_calls += other.cut_calls;
  cut_ns += other.cut_ns;
  calls_outside += other.calls_outside;
  wide_groups += other.wide_groups;
  points += other.points;
  other_facts += other.other_facts;
}

Status add_up(Collective& members, Tally& tally) {
  Collective::Bytes bytes(sizeof tally);
  std::memcpy(bytes.data(), &tally, sizeof tally);
  const Status status = members.merge_all(
      bytes, [](Collective::Bytes& mine, std::span<const std::byte> theirs) {
        Tally sum;
        Tally other;
        std::memcpy(&sum, mine.data(), sizeof sum);
        std::memcpy(&other, theirs.data(), sizeof other);
        sum.add(other);
        std::memcpy(mine.data(), &sum, sizeof sum);
      });
  if (status.is_ok()) std::memcpy(&tally, bytes.data(), sizeof tally);
  return status;
}

std::vector<std::string> notes_of(const Tally& tally) {
  std::vector<std::string> notes;
  if (tally.cut_calls != 0) {
    notes.push_back(
        human_count(tally.cut_calls) + " of " + human_count(tally.calls) +
        " calls partially overlap others of their rank, which MegaScan's single row for a rank "
        "cannot show; " +
        "they are shortened, by " + human_duration(static_cast<std::int64_t>(tally.cut_ns)) +
        " in total (uncut_begin and uncut_end have the original times)");
  }
  if (tally.calls_outside != 0)
    notes.push_back(human_count(tally.calls_outside) + " calls outside of steps are omitted");
  if (tally.wide_groups != 0)
    notes.push_back(human_count(tally.wide_groups) +
                    " rows have no group because it has too many members");
  if (tally.points != 0)
    notes.push_back(
        human_count(tally.points) +
        " counter values, marks and tensors are omitted: the format does not support them");
  if (tally.other_facts != 0) {
    notes.push_back(
        human_count(tally.other_facts) +
        " facts (files, windows, probes, errors, values, new communicators) are omitted: the "
        "format does not support them");
  }
  return notes;
}

}  // namespace megascope::megascan
