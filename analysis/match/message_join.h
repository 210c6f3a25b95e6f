#pragma once

#include "analysis/match/match.h"
#include "core/record/id_map.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Why an end of a message between these two found no other end.
Unmatched why_unmatched(const RankStates& states, std::int32_t own_rank, std::int32_t partner);

/// Brings the two ends of messages together, by name. states: outlives it. One thread. Memory:
/// the ends that wait for their other one.
class MessageJoin {
 public:
  MessageJoin(const RankStates& states, std::size_t task) : states_(states), task_(task) {}

  void add(const MessageEnd& end, Matching& result, MatchSink& sink);
  /// Gives up ends whose partners will say no more. has_finished: by world rank.
  void give_up(const std::vector<bool>& has_finished, Matching& result);
  std::size_t waiting_count() const { return by_name_.size(); }

 private:
  struct Held {
    MessageEnd end;
    bool is_used = false;
  };
  void give_up(const MessageEnd& end, Matching& result) const;

  const RankStates& states_;
  std::size_t task_;
  IdMap<std::uint64_t, std::uint32_t> by_name_;  ///< index + 1
  std::vector<Held> held_;
  std::vector<std::uint32_t> free_;
};

}  // namespace megascope::analysis
