#pragma once

#include "analysis/match/match.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// The communicators, windows and files of one process, by slot, and its last synchronisation with
/// their members. One thread at a time.
class ProcessComms {
 public:
  ProcessComms(const RecordSource& source, const MatchTables& tables, std::int32_t world_rank) {
    const ProcessDefinitions& definitions = source.process(world_rank);
    for (Slot slot = 0; slot < slot_count(definitions); ++slot) {
      const CommTable::Index index = tables.comms.of(world_rank, slot);
      const CommDefinition* comm = comm_of_slot(definitions, slot);
      const bool is_sure = index != CommTable::kNone && comm != nullptr &&
                           tables.comms.entry(index).is_sure && comm->kind != CommKind::kRemote;
      const bool has_all = comm != nullptr &&
                           rank_count(comm->members) + rank_count(comm->remote_members) >=
                               source.world_size();
      comms_.push_back(
          {.index = index, .is_sure = is_sure, .has_all_ranks = has_all, .last_met = {}});
    }
  }

  /// Returns the entry of a slot; CommTable::kNone for a communicator without a global name.
  CommTable::Index index_of(Slot slot) const {
    return slot < comms_.size() ? comms_[slot].index : CommTable::kNone;
  }
  /// Returns whether its collectives can be matched.
  bool is_sure(Slot slot) const { return slot < comms_.size() && comms_[slot].is_sure; }
  /// Records that a blocking collective has ended. slot: is_sure(slot) is true.
  void meet(Slot slot, Meeting meeting) {
    comms_[slot].last_met = meeting;
    if (comms_[slot].has_all_ranks) met_all_ = meeting;
  }
  /// Returns the last collective on this communicator, or on all ranks, whichever ended later.
  Meeting last_met(Slot slot) const {
    const Meeting here = slot < comms_.size() ? comms_[slot].last_met : Meeting{};
    return here.time_ns > met_all_.time_ns ? here : met_all_;
  }
  /// Returns the last collective on all ranks of the run.
  Meeting last_met_all() const { return met_all_; }

 private:
  struct Comm {
    CommTable::Index index = CommTable::kNone;
    bool is_sure = false;
    bool has_all_ranks = false;
    Meeting last_met;
  };
  std::vector<Comm> comms_;
  Meeting met_all_;
};

}  // namespace megascope::analysis
