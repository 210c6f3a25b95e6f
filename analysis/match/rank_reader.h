#pragma once

#include "analysis/common/collective_step.h"
#include "analysis/match/match.h"
#include "analysis/match/message_naming.h"
#include "analysis/match/open_collectives.h"
#include "analysis/match/outbox.h"
#include "analysis/match/process_comms.h"
#include "core/base/id_map.h"
#include "core/record/merged_calls.h"
#include "core/record/request_map.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Reads the calls of one process in order of entry, a window at a time, and creates the message
/// and collective ends to be matched. Delivers calls and wait points to the sink. One thread at a
/// time.
class RankReader {
 public:
  /// source, tables, sink: must outlive the object. process_index: in source.world_ranks().
  RankReader(const RecordSource& source, const MatchTables& tables, std::size_t process_index,
             MatchSink& sink);

  /// Reads the calls entered before `limit_ns` and adds their ends to `out`. After the last call of
  /// the trace it adds the ends of operations that never completed.
  void read_until(std::uint64_t limit_ns, Outbox& out);
  bool is_at_end() const { return call_ == nullptr; }
  /// Entry of the next call. Call only if !is_at_end().
  std::uint64_t next_ns() const { return call_->enter_ns; }
  std::int32_t world_rank() const { return world_rank_; }
  const std::vector<TrackTotals>& totals() const { return totals_; }
  /// Returns whether the trace lacks its last calls although it is marked as complete. This is so
  /// if it has no MPI_Finalize, and has either MPI_Init or no calls. Call only if is_at_end().
  bool is_cut_short() const;
  /// Operations that cannot be matched.
  struct Unmatched {
    std::uint64_t
        sends = 0;  ///< sends that were not named, because calls are missing in this trace
    std::uint64_t receives = 0;
    std::uint64_t
        unsure_collectives = 0;  ///< collectives on communicators without a sure global name
  };
  const Unmatched& unmatched() const { return unmatched_; }

 private:
  struct Probe {
    bool is_set = false;
    MessageSeries::Envelope envelope;
    MessageEnd end;
  };
  /// State of the call that is being read.
  struct Now {
    const Call* call = nullptr;
    Track track = 0;
    std::uint32_t wait_point = kNoWaitPoint;
    const FunctionTable::Function* function = nullptr;
    bool has_sends = false;
    bool has_receives = false;
  };
  struct Partner {
    SyncPoint sent_start, sent_end, received_start, received_end;
  };
  /// The processes that this one exchanges messages with.
  class Partners {
   public:
    /// message: has a partner. Sets its partner_index. Valid until the next call.
    Partner& of(MessageEnd& message);

   private:
    IdMap<std::uint64_t, std::uint32_t> index_;  ///< by world rank + 1; index + 1
    std::vector<Partner> all_;
  };

  void add(const Call& call, LocationId location, Outbox& out);
  void note_directions(Now& now) const;
  void add_fact(const Fact& fact, Now& now, Outbox& out);
  void add_posted(const Fact& fact, Now& now, Outbox& out);
  void add_blocking_send(events::Send send, Now& now, Outbox& out);
  void add_blocking_receive(events::Receive receive, Now& now, Outbox& out);
  void add_start(events::Send send, Now& now);
  void add_start(events::PostedReceive receive, Now& now);
  void add_probe(events::FoundMessage message, Now& now);
  void add_matched_probe(events::MatchedProbe probe, Now& now);
  void complete_request(events::Completion completion, Now& now, Outbox& out);
  void complete_send(events::Completion completion, Now& now, Outbox& out);
  void complete_receive(events::Receive receive, Now& now, Outbox& out);
  void add_collective(events::Collective collective, Now& now, Outbox& out);
  void add_other_collective(const Fact& fact, Now& now, Outbox& out);
  void add_collective(const CollectiveStep& step, Now& now, Outbox& out);
  void complete_collective(events::CollectiveCompletion collective, Now& now, Outbox& out);

  std::uint32_t wait_point_of(Now& now);
  void begin(MessageEnd& end, events::Message message, const Now& now, bool is_send);
  void end(MessageEnd& message, Now& now);
  void finish(Outbox& out);

  const MatchTables& tables_;
  MatchSink& sink_;
  const ProcessDefinitions& definitions_;
  std::int32_t world_rank_;
  std::size_t process_index_;
  Track first_track_;
  bool lacks_messages_;
  bool has_begun_ = false;  ///< MPI_Init was read
  bool has_finalized_ = false;
  FunctionTable functions_;
  MergedCalls calls_;
  const Call* call_ = nullptr;
  LocationId location_ = 0;
  MessageNaming naming_;
  ProcessComms comms_;
  std::vector<std::uint32_t> wait_point_counts_;  ///< by location
  std::vector<TrackTotals> totals_;
  std::vector<Probe> probes_;  ///< by location: the last probe that waited
  Partners partners_;
  RequestMap<bool> probed_;  ///< messages that a matched probe reserved and no receive has taken
  OpenCollectives open_collectives_;
  bool is_finished_ = false;
  Unmatched unmatched_;
};

}  // namespace megascope::analysis
