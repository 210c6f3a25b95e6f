#include "analysis/synth/layout.h"

#include <algorithm>

namespace megascope::synth {
namespace {

constexpr const char* kNames[kCommRoleCount] = {"MPI_COMM_WORLD", "tensor", "pipeline", "data",
                                                "model"};

std::uint64_t name_of(CommRole role, std::int32_t leader) {
  return 0x5EED0000U + static_cast<std::uint64_t>(role) * 0x100000000U +
         static_cast<std::uint64_t>(leader);
}

}  // namespace

Layout::Layout(const RunSpec& spec) : spec_(spec) {
  const bool is_grid = spec.pattern != Pattern::kHalo;
  const std::int32_t sizes[kCommRoleCount] = {spec.rank_count(), spec.tp, spec.pp, spec.dp,
                                              spec.tp * spec.pp};
  CommId next = 0;
  for (std::size_t role = 0; role < kCommRoleCount; ++role) {
    const bool is_there = role == 0 || (is_grid && sizes[role] > 1);
    ids_[role] = is_there ? next++ : kNoComm;
  }
}

Coordinates Layout::coordinates(std::int32_t rank) const {
  return {rank % spec_.tp, rank / (spec_.tp * spec_.dp), rank / spec_.tp % spec_.dp};
}

std::vector<std::int32_t> Layout::members(CommRole role, std::int32_t rank) const {
  std::vector<std::int32_t> all;
  const Coordinates mine = spec_.pattern == Pattern::kHalo ? Coordinates{} : coordinates(rank);
  for (std::int32_t other = 0; other < spec_.rank_count(); ++other) {
    const Coordinates at = spec_.pattern == Pattern::kHalo ? Coordinates{} : coordinates(other);
    const bool same_tp = at.tp == mine.tp;
    const bool same_pp = at.pp == mine.pp;
    const bool same_dp = at.dp == mine.dp;
    const bool is_member = role == CommRole::kWorld ||
                           (role == CommRole::kTensor && same_pp && same_dp) ||
                           (role == CommRole::kPipeline && same_tp && same_dp) ||
                           (role == CommRole::kData && same_tp && same_pp) ||
                           (role == CommRole::kModel && same_dp);
    if (is_member) all.push_back(other);
  }
  return all;
}

std::vector<CommDefinition> Layout::definitions(std::int32_t rank) const {
  std::vector<CommDefinition> all;
  for (std::size_t i = 0; i < kCommRoleCount; ++i) {
    if (ids_[i] == kNoComm) continue;
    const auto role = static_cast<CommRole>(i);
    const std::vector<std::int32_t> ranks = members(role, rank);
    CommDefinition comm;
    comm.id = ids_[i];
    comm.parent = i == 0 ? kNoComm : 0;
    comm.global_name = name_of(role, ranks.front());
    comm.kind = i == 0 ? CommKind::kWorld : CommKind::kIntra;
    comm.name = kNames[i];
    comm.my_rank = static_cast<std::int32_t>(std::find(ranks.begin(), ranks.end(), rank) -
                                             ranks.begin());
    comm.members = compress(ranks);
    all.push_back(std::move(comm));
  }
  return all;
}

}  // namespace megascope::synth
