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
    notes.push_back(human_count(tally.cut_calls) + " of " + human_count(tally.calls) +
                    " calls overlap others of their rank in part, which MegaScan's one row a rank "
                    "cannot show: " +
                    "they are shorter there, by " +
                    human_duration(static_cast<std::int64_t>(tally.cut_ns)) +
                    " in all (uncut_begin and uncut_end tell their own times)");
  }
  if (tally.calls_outside != 0)
    notes.push_back(human_count(tally.calls_outside) +
                    " calls belong to no step and were left out");
  if (tally.wide_groups != 0)
    notes.push_back(human_count(tally.wide_groups) +
                    " rows have no group: it has too many members");
  if (tally.points != 0)
    notes.push_back(
        human_count(tally.points) +
        " values of counters, marks and tensors have no place in the format and were left out");
  if (tally.other_facts != 0) {
    notes.push_back(human_count(tally.other_facts) +
                    " facts (files, windows, probes, errors, values, communicators made) have no "
                    "place in the format and were left out");
  }
  return notes;
}

}  // namespace megascope::megascan
