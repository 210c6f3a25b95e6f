#include "analysis/hang/comm_table.h"

#include <algorithm>
#include <unordered_map>

namespace megascope::analysis {

CommTable::CommTable(const RecordSource& source) {
  std::unordered_map<std::uint64_t, Index> known;
  for (const std::int32_t rank : source.world_ranks()) {
    Process& process = processes_.emplace_back();
    process.world_rank = rank;
    process.definitions = &source.process(rank);
    for (const CommDefinition& comm : process.definitions->comms) {
      const auto [found, is_new] = known.try_emplace(comm.global_name, static_cast<Index>(entries_.size()));
      if (is_new) {
        entries_.push_back({.global_name = comm.global_name, .name = comm.name, .kind = comm.kind,
                            .is_sure = has_sure_name(*process.definitions, comm), .definition = &comm});
      }
      process.by_id.push_back(found->second);
      process.by_index.emplace_back(found->second, comm.id);
    }
    std::ranges::sort(process.by_index);
  }
}

const CommTable::Process* CommTable::process(std::int32_t world_rank) const {
  const auto found = std::ranges::lower_bound(processes_, world_rank, {}, &Process::world_rank);
  return found != processes_.end() && found->world_rank == world_rank ? &*found : nullptr;
}

CommTable::Index CommTable::of(std::int32_t world_rank, CommId comm) const {
  const Process* here = process(world_rank);
  return here != nullptr && comm < here->by_id.size() ? here->by_id[comm] : kNone;
}

CommId CommTable::id_in(std::int32_t world_rank, Index index) const {
  const Process* here = process(world_rank);
  if (here == nullptr) return kNoComm;
  const auto found = std::ranges::lower_bound(here->by_index, std::pair(index, CommId{0}));
  return found != here->by_index.end() && found->first == index ? found->second : kNoComm;
}

std::vector<std::int32_t> CommTable::members(Index index) const {
  const CommDefinition& comm = *entries_[index].definition;
  std::vector<std::int32_t> ranks = expand(comm.members);
  const std::vector<std::int32_t> remote = expand(comm.remote_members);
  ranks.insert(ranks.end(), remote.begin(), remote.end());
  return ranks;
}

std::vector<std::int32_t> CommTable::partners(std::int32_t world_rank, Index index) const {
  const Process* here = process(world_rank);
  const CommId id = id_in(world_rank, index);
  if (here == nullptr || id == kNoComm) return {};
  const CommDefinition& comm = here->definitions->comms[id];
  return expand(comm.kind == CommKind::kInter ? comm.remote_members : comm.members);
}

}  // namespace megascope::analysis
