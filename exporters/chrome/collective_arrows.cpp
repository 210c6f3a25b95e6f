#include "exporters/chrome/collective_arrows.h"

#include "core/record/collective_op.h"
#include "core/record/message_order.h"

#include <algorithm>

namespace megascope::chrome {
namespace {

/// The id of one of several arrows of an operation.
std::uint64_t arrow_of(std::uint64_t id, std::int32_t world_rank) {
  return collective_flow_id(id, static_cast<std::uint32_t>(world_rank));
}

std::int32_t rank_at(const std::vector<RankRun>& members, std::int32_t rank) {
  for (const RankRun& run : members) {
    if (rank < run.count) return run.first + rank * run.stride;
    rank -= run.count;
  }
  return kNoPeer;
}

}  // namespace

CollectiveArrows::Part CollectiveArrows::part_of(events::CollectiveOperation event,
                                                 CollectiveOp operation) const {
  if (event.comm() >= comms_.size() || event.root() == kProcNullRoot) return {};
  const CommDefinition& comm = comms_[event.comm()];
  if (rank_count(comm.members) + rank_count(comm.remote_members) < 2) return {};
  const std::uint64_t id = collective_flow_id(comm.global_name, event.sequence());
  Part part;
  switch (data_flow_of(operation)) {
    case DataFlow::kToRoot:
      return to_root(event, comm, id);
    case DataFlow::kFromRoot:
      if (is_root(event, comm)) {
        part.start = id;
      } else {
        part.ends.push_back(id);
      }
      break;
    case DataFlow::kAll:
    case DataFlow::kPrefix:
    case DataFlow::kNone:
      (is_first(comm) ? part.start : part.step) = id;
      break;
  }
  return part;
}

CollectiveArrows::Part CollectiveArrows::to_root(events::CollectiveOperation event,
                                                 const CommDefinition& comm,
                                                 std::uint64_t id) const {
  Part part;
  if (!is_root(event, comm)) {
    part.start = arrow_of(id, world_rank_);
    return part;
  }
  for (const std::int32_t member :
       expand(comm.kind == CommKind::kInter ? comm.remote_members : comm.members)) {
    if (member != world_rank_) part.ends.push_back(arrow_of(id, member));
  }
  return part;
}

// Of the two ranks 0 of an intercommunicator's groups, the one with the lower world rank is first.
bool CollectiveArrows::is_first(const CommDefinition& comm) const {
  if (rank_at(comm.members, 0) != world_rank_) return false;
  return comm.kind != CommKind::kInter || world_rank_ < rank_at(comm.remote_members, 0);
}

bool CollectiveArrows::is_root(events::CollectiveOperation event,
                               const CommDefinition& comm) const {
  if (comm.kind == CommKind::kInter) return event.root() == kSelfRoot;
  return event.root() >= 0 && rank_at(comm.members, event.root()) == world_rank_;
}

}  // namespace megascope::chrome
