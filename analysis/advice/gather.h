#pragma once

#include "analysis/advice/facts.h"
#include "analysis/advice/rank_gather.h"
#include "analysis/match/match.h"
#include "analysis/waits/wait_analysis.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace megascope::advice {

/// Collects the facts while a run is matched. Memory depends on the number of ranks and call sites,
/// not of calls.
class Gather final : public analysis::MatchSink {
 public:
  /// source, tables: outlive the object.
  Gather(const RecordSource& source, const analysis::MatchTables& tables)
      : source_(source), tables_(tables) {}

  /// Begins a pass; discards the facts of an earlier one.
  void begin(std::size_t task_count) override;
  void add_call(analysis::Track track, const Call& call) override {
    const analysis::MatchTables::TrackOwner& owner = tables_.owner(track);
    ranks_[owner.process_index]->add(owner.location, call);
  }
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override {}
  void add_message(std::size_t task, const analysis::MessageEnd& send,
                   const analysis::MessageEnd& receive) override;
  void add_collective(std::size_t task, const analysis::Collective& collective) override;
  void end_window() override {}

  /// Returns the facts. Call it once, after the pass. waits: result of the same pass. comm_name:
  /// returns a communicator's name for messages.
  Facts take(const analysis::WaitAnalysis& waits,
             const std::function<std::string(analysis::CommTable::Index)>& comm_name);

 private:
  /// Sums of one rank's messages.
  struct Messages {
    UnexpectedQueue queue;
    Hops late_sends;
    Hops late_receives;
  };
  struct Task {
    std::vector<Messages> ranks;  ///< by world rank
    std::map<std::pair<std::uint32_t, std::uint32_t>, TinyWire> tiny_wires;
    std::pair<std::pair<std::uint32_t, std::uint32_t>, TinyWire*> last{{kNoIndex, kNoIndex},
                                                                       nullptr};
  };
  void add_rows(RankFacts& rank, std::size_t process_index, Facts& facts,
                std::map<std::string, std::uint32_t>& site_index);
  void add_messages(RankFacts& rank) const;
  void add_waits(const analysis::WaitAnalysis& waits, Facts& facts) const;

  const RecordSource& source_;
  const analysis::MatchTables& tables_;
  std::vector<std::unique_ptr<RankGather>> ranks_;  ///< by index in world_ranks()
  std::vector<Task> tasks_;
};

}  // namespace megascope::advice
