#include "mpi_layer/table/regions.h"

#include "mpi_layer/table/header_functions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

namespace megascope::mpi {
namespace {

constexpr const char* kNames[] = {
    "",
#define MEGASCOPE_MPI(name, group, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, "MPI_" #name, )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
};

constexpr const char* kGroupNames[] = {"p2p",   "request", "coll", "comm",    "topo", "group",
                                       "attr",  "error",   "info", "type",    "op",   "env",
                                       "spawn", "io",      "rma",  "convert", "time", "tool"};
static_assert(std::size(kGroupNames) == static_cast<std::size_t>(Group::kCount));

struct NamedOp {
  std::string_view name;  // lower case, without MPI_, I and Neighbor_
  CollectiveOp op;
  RegionRole role;
};
constexpr NamedOp kOps[] = {
    {"barrier", CollectiveOp::kBarrier, RegionRole::kCollBarrier},
    {"bcast", CollectiveOp::kBcast, RegionRole::kCollOneToAll},
    {"gather", CollectiveOp::kGather, RegionRole::kCollAllToOne},
    {"gatherv", CollectiveOp::kGatherv, RegionRole::kCollAllToOne},
    {"scatter", CollectiveOp::kScatter, RegionRole::kCollOneToAll},
    {"scatterv", CollectiveOp::kScatterv, RegionRole::kCollOneToAll},
    {"allgather", CollectiveOp::kAllgather, RegionRole::kCollAllToAll},
    {"allgatherv", CollectiveOp::kAllgatherv, RegionRole::kCollAllToAll},
    {"alltoall", CollectiveOp::kAlltoall, RegionRole::kCollAllToAll},
    {"alltoallv", CollectiveOp::kAlltoallv, RegionRole::kCollAllToAll},
    {"alltoallw", CollectiveOp::kAlltoallw, RegionRole::kCollAllToAll},
    {"allreduce", CollectiveOp::kAllreduce, RegionRole::kCollAllToAll},
    {"reduce", CollectiveOp::kReduce, RegionRole::kCollAllToOne},
    {"reduce_scatter", CollectiveOp::kReduceScatter, RegionRole::kCollOther},
    {"reduce_scatter_block", CollectiveOp::kReduceScatterBlock, RegionRole::kCollOther},
    {"scan", CollectiveOp::kScan, RegionRole::kCollOther},
    {"exscan", CollectiveOp::kExscan, RegionRole::kCollOther},
};
/// Functions that are collective over all of a communicator and create another one.
constexpr std::string_view kCreations[] = {
    "MPI_Comm_dup",        "MPI_Comm_dup_with_info",  "MPI_Comm_idup",
    "MPI_Comm_create",     "MPI_Comm_split",          "MPI_Comm_split_type",
    "MPI_Intercomm_merge", "MPI_Cart_create",         "MPI_Cart_sub",
    "MPI_Graph_create",    "MPI_Dist_graph_create",   "MPI_Dist_graph_create_adjacent",
    "MPI_Comm_spawn",      "MPI_Comm_spawn_multiple", "MPI_Comm_accept",
    "MPI_Comm_connect"};

std::string plain_name(std::string_view name) {
  std::string lower;
  for (const char c : name.substr(4))
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.starts_with("i")) lower.erase(0, 1);
  if (lower.starts_with("neighbor_")) lower.erase(0, 9);
  return lower;
}

void set_collective(RegionDefinition& region) {
  const std::string plain = plain_name(region.name);
  region.role = RegionRole::kCollOther;
  for (const NamedOp& named : kOps) {
    if (named.name == plain) {
      region.collective_op = named.op;
      region.role = named.role;
    }
  }
}

RegionRole role_of(Group group) {
  switch (group) {
    case Group::kP2p:
    case Group::kRequest:
      return RegionRole::kPointToPoint;
    case Group::kIo:
      return RegionRole::kFileIo;
    case Group::kRma:
      return RegionRole::kRma;
    default:
      return RegionRole::kFunction;
  }
}

}  // namespace

const char* mpi_name(Fn fn) noexcept { return kNames[static_cast<unsigned>(fn)]; }
const char* group_name(Group group) noexcept { return kGroupNames[static_cast<unsigned>(group)]; }

std::vector<RegionDefinition> all_regions() {
  std::vector<RegionDefinition> regions;
  for (unsigned i = 1; i < kFnEnd; ++i) {
    const Fn fn = static_cast<Fn>(i);
    RegionDefinition region;
    region.id = static_cast<RegionId>(i);
    region.name = mpi_name(fn);
    region.group = group_name(group_of(fn));
    region.role = role_of(group_of(fn));
    if (group_of(fn) == Group::kColl) set_collective(region);
    if (std::find(std::begin(kCreations), std::end(kCreations), region.name) !=
        std::end(kCreations)) {
      region.role = RegionRole::kCollOther;
      region.collective_op = CollectiveOp::kCreateHandle;
    }
    regions.push_back(std::move(region));
  }
  return regions;
}

std::vector<std::string> functions_not_wrapped() {
  const std::set<std::string_view> wrapped(std::begin(kNames), std::end(kNames));
  std::vector<std::string> missing;
  for (const char* const* name = kHeaderFunctions; *name != nullptr; ++name) {
    if (!wrapped.contains(*name)) missing.emplace_back(*name);
  }
  return missing;
}

}  // namespace megascope::mpi
