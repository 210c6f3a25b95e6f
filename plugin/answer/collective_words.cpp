#include "plugin/answer/collective_words.h"

#include "core/base/text.h"
#include "core/base/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace megascope::answer {

using analysis::CommTable;
using analysis::Mismatch;

namespace {

constexpr std::size_t kMaxParticipantsNamed = 4;
constexpr std::size_t kMaxListedRanks = 6;
constexpr std::size_t kNameColumns = 60;

std::string participant_text(const Mismatch& mismatch, const Mismatch::Participant& participant) {
  if (mismatch.what == Mismatch::What::kCount) {
    const std::string last = participant.count == 0
                                 ? ""
                                 : ", the last is " + std::string(participant.shape.function);
    return fmt::format("{} made {} {}{}", ranks_text(participant.world_ranks), participant.count,
                       participant.count == 1 ? "collective" : "collectives", last);
  }
  std::string text = ranks_text(participant.world_ranks) + " called " +
                     std::string(participant.shape.function);
  if (participant.shape.root != kNoPeer)
    text += fmt::format(" with root {}", participant.shape.root);
  if (mismatch.what == Mismatch::What::kBytes) {
    const auto blocks = static_cast<std::uint64_t>(
        std::max<std::int64_t>(1, participant.shape.block_count));
    text += fmt::format(" with {}", human_bytes(participant.shape.bytes / blocks));
  }
  return text;
}

}  // namespace

std::string comm_name(const CommTable& comms, CommTable::Index comm) {
  if (comm == CommTable::kNone) return "?";
  const CommTable::Entry& entry = comms.entry(comm);
  const bool is_comm = entry.what == CommTable::What::kComm;
  const std::string name = is_comm                       ? entry.name
                           : entry.definition != nullptr ? entry.definition->name
                                                         : "?";
  return printable(name.empty() ? fmt::format("communicator {}", comm) : name, kNameColumns);
}

std::string object_name(const CommTable& comms, CommTable::Index object) {
  if (object == CommTable::kNone || comms.entry(object).what == CommTable::What::kComm)
    return "`" + comm_name(comms, object) + "`";
  const CommTable::Entry& entry = comms.entry(object);
  const std::string name = printable(entry.name, kNameColumns);
  return entry.what == CommTable::What::kWindow
             ? fmt::format("window {} (`{}`)", entry.number, name)
             : "file `" + name + "`";
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const std::string list = rank_list(ranks);
  return ranks.size() <= kMaxListedRanks ? "ranks " + list
                                         : fmt::format("{} ranks ({})", ranks.size(), list);
}

const char* what_name(Mismatch::What what) {
  static constexpr const char* kNames[] = {"function", "root", "bytes", "count"};
  return kNames[static_cast<std::size_t>(what)];
}

std::string mismatch_text(const CommTable& comms, const Mismatch& mismatch) {
  std::vector<std::string> participants;
  for (auto participant = mismatch.participants.rbegin();
       participant != mismatch.participants.rend(); ++participant) {
    participants.push_back(participant_text(mismatch, *participant));
  }
  if (participants.size() > kMaxParticipantsNamed) {
    const std::size_t more = participants.size() - kMaxParticipantsNamed;
    participants.erase(participants.begin(),
                       participants.begin() + static_cast<std::ptrdiff_t>(more));
    participants.push_back(fmt::format("and {} more groups of ranks differ", more));
  }
  const std::string name = object_name(comms, mismatch.comm);
  const std::string where = mismatch.what == Mismatch::What::kCount
                                ? "On " + name
                                : fmt::format("#{} of {}", mismatch.sequence, name);
  return where + ": " + joined(participants, mismatch.what == Mismatch::What::kCount ? "; " : ", ");
}

}  // namespace megascope::answer
