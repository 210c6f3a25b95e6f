#include "mpi_layer/table/regions.h"

#include "core/record/collective_op.h"
#include "mpi_layer/table/header_functions.h"

#include <array>
#include <set>
#include <string_view>

namespace megascope::mpi {
namespace {

constexpr const char* kNames[] = {
    "",
#define MEGASCOPE_MPI(name, kind, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, "MPI_" #name, )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
};

constexpr const char* kGroupNames[] = {"p2p",   "request", "coll", "comm",    "topo", "group",
                                       "attr",  "error",   "info", "type",    "op",   "env",
                                       "spawn", "io",      "rma",  "convert", "time", "tool"};
static_assert(std::size(kGroupNames) == static_cast<std::size_t>(Group::kCount));

/// As megascope::role_of(), except that reductions whose result is scattered keep the role that
/// traces have had since version 0.1.
RegionRole role_of_function(CollectiveOp op) {
  const bool is_scattered = op == CollectiveOp::kReduceScatter ||
                            op == CollectiveOp::kReduceScatterBlock;
  return is_scattered ? RegionRole::kCollOther : megascope::role_of(op);
}

RegionRole role_of(Kind kind) {
  if (kind.op != CollectiveOp::kNone) return role_of_function(kind.op);
  switch (kind.group) {
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

/// Every row of kColl names its operation.
constexpr bool has_operation(Kind kind) {
  return kind.group != Group::kColl || kind.op != CollectiveOp::kNone;
}
#define MEGASCOPE_MPI(name, kind, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, static_assert(has_operation(kind_of(Fn::name)));)
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI

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
    region.role = role_of(kind_of(fn));
    region.collective_op = kind_of(fn).op;
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
