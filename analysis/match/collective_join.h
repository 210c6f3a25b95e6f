#pragma once

#include "analysis/match/match.h"
#include "core/base/id_map.h"

#include <cstdint>
#include <map>
#include <vector>

namespace megascope::analysis {

/// Joins the calls of all members of each collective. A collective is identified by its
/// communicator, window or file, and its sequence number. One thread. Memory: the collectives that
/// a member with a trace has not yet entered.
class CollectiveJoin {
 public:
  CollectiveJoin(const MatchTables& tables, const RankStates& states, std::size_t task)
      : tables_(tables), states_(states), task_(task), groups_(tables.comms.size()) {}

  /// Adds the call of one member. When the last member with a trace has been added, compares the
  /// members, counts the collective in `result` and delivers it to `sink`.
  void add(const CollectiveEnd& end, Matching& result, MatchSink& sink);
  /// Delivers each incomplete collective whose missing members either have no trace, or have a
  /// trace that was read to its end. has_finished: by world rank.
  void give_up(const std::vector<bool>& has_finished, Matching& result, MatchSink& sink);
  /// Appends the first mismatch of each communicator to `mismatches` and removes it from the
  /// object.
  void take_mismatches(std::vector<Mismatch>& mismatches);
  std::size_t waiting_count() const {
    return waiting_count_;
  }  ///< calls that wait for other members

 private:
  struct Group {
    std::vector<std::int32_t> members;  ///< world ranks, ascending
    std::size_t present_count = 0;      ///< members with a trace
  };
  struct Open {
    std::vector<CollectiveEnd> members;
    bool is_used = false;
  };
  Group& group(CommTable::Index comm);
  void close(std::uint32_t index, Matching& result, MatchSink& sink);
  bool compare(const std::vector<CollectiveEnd>& members, Matching& result);
  Unmatched why_partial(const Group& group, const std::vector<CollectiveEnd>& members,
                        std::vector<std::int32_t>& missing) const;
  void check_order(const Collective& collective, Matching& result) const;
  void note(Mismatch&& mismatch, Matching& result);
  CollectiveShape shape_of(const CollectiveEnd& end) const;

  const MatchTables& tables_;
  const RankStates& states_;
  std::size_t task_;
  std::vector<Group> groups_;                      ///< by communicator
  IdMap<std::uint64_t, std::uint32_t> by_number_;  ///< index + 1
  std::vector<Open> open_;
  std::vector<std::uint32_t> free_;
  std::size_t waiting_count_ = 0;
  std::map<CommTable::Index, Mismatch> mismatches_;
};

}  // namespace megascope::analysis
