#include "analysis/common/comm_table.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace megascope::analysis {

namespace {

/// Name prefix of windows whose creation was not recorded. Each process numbers them by itself, so
/// that their global names do not identify a window.
constexpr std::string_view kUnseenWindow = "unknown origin #";

bool has_sure_comm(const ProcessDefinitions& process, const CommDefinition* comm) {
  return comm != nullptr && has_sure_name(process, *comm);
}

/// Entries of all communicators, windows and files of a process, by slot.
std::vector<CommTable::Entry> entries_of(const ProcessDefinitions& process) {
  std::vector<CommTable::Entry> entries;
  for (const CommDefinition& comm : process.comms) {
    entries.push_back({.global_name = comm.global_name,
                       .name = comm.name,
                       .kind = comm.kind,
                       .is_sure = has_sure_name(process, comm),
                       .definition = &comm});
  }
  for (const WindowDefinition& window : process.windows) {
    const CommDefinition* comm = process.comm(window.comm);
    entries.push_back(
        {.what = CommTable::What::kWindow,
         .global_name = window.global_name,
         .name = window.name,
         .is_sure = has_sure_comm(process, comm) && !window.name.starts_with(kUnseenWindow),
         .definition = comm});
  }
  for (const FileDefinition& file : process.files) {
    const CommDefinition* comm = process.comm(file.comm);
    entries.push_back({.what = CommTable::What::kFile,
                       .global_name = file.global_name,
                       .name = file.name,
                       .is_sure = has_sure_comm(process, comm),
                       .definition = comm});
  }
  for (CommTable::Entry& entry : entries) {
    if (entry.definition != nullptr) entry.kind = entry.definition->kind;
  }
  return entries;
}

}  // namespace

CommTable::CommTable(const RecordSource& source) {
  std::map<std::pair<What, std::uint64_t>, Index> known;
  std::uint32_t counts[3] = {0, 0, 0};
  for (const std::int32_t rank : source.world_ranks()) {
    Process& process = processes_.emplace_back();
    process.world_rank = rank;
    process.definitions = &source.process(rank);
    for (Entry& entry : entries_of(*process.definitions)) {
      const auto [found, is_new] = known.try_emplace({entry.what, entry.global_name},
                                                     static_cast<Index>(entries_.size()));
      if (is_new) {
        entry.number = ++counts[static_cast<std::size_t>(entry.what)];
        entries_.push_back(std::move(entry));
      }
      process.by_index.emplace_back(found->second, static_cast<Slot>(process.by_slot.size()));
      process.by_slot.push_back(found->second);
    }
    std::ranges::sort(process.by_index);
  }
}

const CommTable::Process* CommTable::process(std::int32_t world_rank) const {
  const auto found = std::ranges::lower_bound(processes_, world_rank, {}, &Process::world_rank);
  return found != processes_.end() && found->world_rank == world_rank ? &*found : nullptr;
}

CommTable::Index CommTable::of(std::int32_t world_rank, Slot slot) const {
  const Process* here = process(world_rank);
  return here != nullptr && slot < here->by_slot.size() ? here->by_slot[slot] : kNone;
}

Slot CommTable::slot_in(std::int32_t world_rank, Index index) const {
  const Process* here = process(world_rank);
  if (here == nullptr) return kNoSlot;
  const auto found = std::ranges::lower_bound(here->by_index, std::pair(index, Slot{0}));
  return found != here->by_index.end() && found->first == index ? found->second : kNoSlot;
}

std::vector<std::int32_t> CommTable::members(Index index) const {
  if (entries_[index].definition == nullptr) return {};
  const CommDefinition& comm = *entries_[index].definition;
  std::vector<std::int32_t> ranks = expand(comm.members);
  const std::vector<std::int32_t> remote = expand(comm.remote_members);
  ranks.insert(ranks.end(), remote.begin(), remote.end());
  return ranks;
}

std::vector<std::int32_t> CommTable::partners(std::int32_t world_rank, Index index) const {
  const Process* here = process(world_rank);
  const Slot slot = slot_in(world_rank, index);
  if (here == nullptr || slot >= here->definitions->comms.size()) return {};
  const CommDefinition& comm = here->definitions->comms[slot];
  return expand(comm.kind == CommKind::kInter ? comm.remote_members : comm.members);
}

}  // namespace megascope::analysis
