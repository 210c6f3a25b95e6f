#pragma once

#include "analysis/match/match.h"
#include "core/base/id_map.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Returns why a message end between two world ranks was not matched.
Unmatched why_unmatched(const RankStates& states, std::int32_t own_rank, std::int32_t partner);

/// Joins the two ends of each message by name. One thread. states: must outlive the object. Memory:
/// the ends whose other end has not been added.
class MessageJoin {
 public:
  MessageJoin(const RankStates& states, std::size_t task) : states_(states), task_(task) {}

  /// Adds an end. If the other end is present, counts the message in `result` and delivers it to
  /// `sink`. If the partner's messages cannot be named, counts the end as unmatched at once. O(1).
  void add(const MessageEnd& end, Matching& result, MatchSink& sink);
  /// Removes the ends whose partner's trace was read to its end, and counts them as unmatched.
  /// has_finished: by world rank.
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
