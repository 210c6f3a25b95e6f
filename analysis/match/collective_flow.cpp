#include "analysis/match/collective_flow.h"

#include "core/record/collective_op.h"

namespace megascope::analysis {
namespace {

const CollectiveEnd* latest(std::span<const CollectiveEnd> members, auto&& counts) {
  const CollectiveEnd* found = nullptr;
  for (const CollectiveEnd& member : members) {
    if (counts(member) && (found == nullptr || member.start_ns > found->start_ns)) found = &member;
  }
  return found;
}

}  // namespace

Flow flow_of(const FunctionTable::Function& function) {
  if (function.mpi.is_neighbourhood) return Flow::kNone;
  switch (data_flow_of(function.op)) {
    case DataFlow::kAll:
      return Flow::kAll;
    case DataFlow::kToRoot:
      return Flow::kToRoot;
    case DataFlow::kFromRoot:
      return Flow::kFromRoot;
    case DataFlow::kPrefix:
      return Flow::kPrefix;
    case DataFlow::kNone:
      return Flow::kPerhaps;
  }
  return Flow::kPerhaps;
}

bool is_binding(const FunctionTable::Function& function, const CollectiveEnd& member) {
  const Flow flow = flow_of(function);
  if (function.op == CollectiveOp::kBarrier) return true;
  if (flow == Flow::kNone || flow == Flow::kPerhaps) return false;
  return member.block_bytes != 0 && member.block_bytes != CollectiveShape::kNotCompared;
}

LastNeeded::LastNeeded(const Collective& collective, Flow flow, bool has_groups)
    : members_(collective.members), flow_(flow), has_groups_(has_groups) {
  if (flow == Flow::kAll || flow == Flow::kPerhaps) {
    if (!has_groups) {
      all_ = latest(members_, [](const CollectiveEnd&) { return true; });
      return;
    }
    for (const bool second : {false, true}) {
      of_group_[second] = latest(
          members_, [&](const CollectiveEnd& end) { return end.is_second_group == second; });
    }
  } else if (flow == Flow::kFromRoot || flow == Flow::kToRoot) {
    root_ = latest(members_, [](const CollectiveEnd& end) { return end.is_root; });
    if (flow == Flow::kToRoot && root_ != nullptr) {
      others_ = latest(members_, [&](const CollectiveEnd& end) {
        return !end.is_root && !is_beside(end, *root_);
      });
    }
  }
}

const CollectiveEnd* LastNeeded::of(const CollectiveEnd& member) const {
  switch (flow_) {
    case Flow::kNone:
      return nullptr;
    case Flow::kToRoot:
      return member.is_root ? others_ : nullptr;
    case Flow::kFromRoot:
      return root_ == nullptr || member.is_root || is_beside(member, *root_) ? nullptr : root_;
    case Flow::kPrefix:
      return latest(members_,
                    [&](const CollectiveEnd& other) { return other.comm_rank < member.comm_rank; });
    default:
      return has_groups_ ? of_group_[!member.is_second_group] : all_;
  }
}

}  // namespace megascope::analysis
