#pragma once

#include "analysis/match/match.h"
#include "core/record/id_map.h"

#include <cstdint>
#include <map>
#include <vector>

namespace megascope::analysis {

/// Brings the members of collectives together, by communicator (window, file) and number. One
/// thread. Memory: the collectives that not all members have come to.
class CollectiveJoin {
 public:
  CollectiveJoin(const MatchTables& tables, const RankStates& states, std::size_t task)
      : tables_(tables), states_(states), task_(task), groups_(tables.comms.size()) {}

  void add(const CollectiveEnd& end, Matching& result, MatchSink& sink);
  /// Closes collectives to which no rank can come any more. has_finished: by world rank.
  void give_up(const std::vector<bool>& has_finished, Matching& result, MatchSink& sink);
  /// The first mismatch of each communicator; moves them out.
  void take_mismatches(std::vector<Mismatch>& mismatches);
  std::size_t waiting_count() const { return waiting_count_; }  ///< members

 private:
  struct Group {
    std::vector<std::int32_t> members;  ///< world ranks, ascending
    std::size_t present_count = 0;      ///< of them, with a trace
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
