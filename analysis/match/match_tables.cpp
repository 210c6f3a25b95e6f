#include "analysis/match/match_tables.h"

#include <algorithm>
#include <map>

namespace megascope::analysis {
namespace {

std::uint64_t lost(const ProcessDefinitions& process, LossCause cause) {
  return process.losses[static_cast<std::size_t>(cause)];
}

/// An imported timeline contains no MPI functions, and its last operations may be missing.
bool calls_mpi(const ProcessDefinitions& process) {
  return process.regions.empty() ||
         std::ranges::any_of(process.regions, [](const RegionDefinition& region) {
           return region.paradigm == Paradigm::kMpi;
         });
}

RankState state_of(const ProcessDefinitions& process) {
  const bool lacks_beginning = std::ranges::any_of(process.locations,
                                                   &LocationDefinition::lacks_beginning);
  RankState state{
      .has_trace = true,
      .lacks_messages = false,
      .has_losses = false,
      .has_ended = process.info.end_state == EndState::kFinalized && calls_mpi(process)};
  state.lacks_messages = lacks_beginning || process.info.has_message_gaps ||
                         lost(process, LossCause::kNoBuffer) != 0 ||
                         lost(process, LossCause::kDamaged) != 0;
  state.has_losses = state.lacks_messages || lost(process, LossCause::kBufferFull) != 0 ||
                     lost(process, LossCause::kStorage) != 0;
  return state;
}

}  // namespace

FunctionIndex::FunctionIndex(const RecordSource& source) {
  std::map<std::string_view, std::uint32_t> known;
  functions_.emplace_back().name = "?";
  for (const std::int32_t rank : source.world_ranks()) {
    const ProcessDefinitions& process = source.process(rank);
    const FunctionTable table(process);
    auto& regions = by_region_.emplace_back();
    for (const RegionDefinition& region : process.regions) {
      const FunctionTable::Function& function = table.function(region.id);
      const auto [found, is_new] = known.try_emplace(function.name,
                                                     static_cast<std::uint32_t>(functions_.size()));
      if (is_new) functions_.push_back(function);
      if (region.id >= regions.size()) regions.resize(std::size_t{region.id} + 1, 0);
      regions[region.id] = found->second;
    }
  }
}

MatchTables::MatchTables(const RecordSource& source)
    : comms(source), functions(source), states(source.world_size()) {
  for (const std::int32_t rank : source.world_ranks()) {
    const ProcessDefinitions& process = source.process(rank);
    const auto index = static_cast<std::uint32_t>(first_tracks_.size());
    first_tracks_.push_back(static_cast<Track>(owners_.size()));
    for (const LocationDefinition& location : process.locations)
      owners_.push_back({rank, location.id, index});
    states.set(rank, state_of(process));
  }
}

}  // namespace megascope::analysis
