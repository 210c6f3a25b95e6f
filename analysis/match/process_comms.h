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
          {.index = index, .is_sure = is_sure, .has_all_ranks = has_all, .last_sync = {}});
    }
  }

  /// Returns the entry of a slot; CommTable::kNone for a communicator without a global name.
  CommTable::Index index_of(Slot slot) const {
    return slot < comms_.size() ? comms_[slot].index : CommTable::kNone;
  }
  /// Returns whether its collectives can be matched.
  bool is_sure(Slot slot) const { return slot < comms_.size() && comms_[slot].is_sure; }
  /// Records that a blocking collective has ended. slot: is_sure(slot) is true.
  void note_sync(Slot slot, SyncPoint sync) {
    comms_[slot].last_sync = sync;
    if (comms_[slot].has_all_ranks) last_sync_all_ = sync;
  }
  /// Returns the last collective on this communicator, or on all ranks, whichever ended later.
  SyncPoint last_sync(Slot slot) const {
    const SyncPoint here = slot < comms_.size() ? comms_[slot].last_sync : SyncPoint{};
    return here.time_ns > last_sync_all_.time_ns ? here : last_sync_all_;
  }
  /// Returns the last collective on all ranks of the run.
  SyncPoint last_sync_all() const { return last_sync_all_; }

 private:
  struct Comm {
    CommTable::Index index = CommTable::kNone;
    bool is_sure = false;
    bool has_all_ranks = false;
    SyncPoint last_sync;
  };
  std::vector<Comm> comms_;
  SyncPoint last_sync_all_;
};

}  // namespace megascope::analysis
