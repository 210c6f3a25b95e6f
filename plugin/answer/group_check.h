#pragma once

#include "analysis/detect/detect.h"
#include "analysis/match/match.h"
#include "analysis/match/match_tables.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace megascope::answer {

/// Checks, while a run is matched, whether its communication contradicts the specified parallel
/// groups. It applies two rules:
/// - If a pipeline group ("pp") is specified, the sender and the receiver of a message differ in at
/// most one dimension.
/// - If the ranks of a collective differ in several dimensions, all ranks that differ only in these
/// dimensions take part in it.
class GroupCheck final : public analysis::MatchSink {
 public:
  /// groups: the specified parallel groups to compare with the messages and collectives; if empty,
  /// nothing is checked and contradiction() returns an empty string. All arguments outlive the
  /// object.
  GroupCheck(const analysis::MatchTables& tables, const std::vector<std::int32_t>& world_ranks,
             const detect::GroupIndices& groups)
      : tables_(tables), world_ranks_(world_ranks), groups_(groups) {}

  void begin(std::size_t task_count) override { tasks_.assign(task_count, {}); }
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override {}
  void add_message(std::size_t task, const analysis::MessageEnd& send,
                   const analysis::MessageEnd& receive) override;
  void add_collective(std::size_t task, const analysis::Collective& collective) override;
  void end_window() override {}

  /// Returns, after the pass, a sentence if more than a tenth of the communication contradicts the
  /// groups; otherwise an empty string.
  std::string contradiction() const;

 private:
  struct Fit {  ///< whether a communicator's members fit the groups
    bool does = true;
    std::pair<std::int32_t, std::int32_t> lowest = {-1, -1};  ///< its two lowest world ranks
  };
  struct Task {
    std::uint64_t count = 0;
    std::uint64_t contradicting = 0;
    std::pair<std::int32_t, std::int32_t> example = {
        -1, -1};  ///< the contradicting pair with the lowest ranks
    std::map<analysis::CommTable::Index, Fit> fits;
    void add(bool is_contradicting, std::int32_t a, std::int32_t b);
  };
  std::size_t index_of(std::int32_t world_rank) const;
  bool do_fit(const analysis::Collective& collective) const;

  const analysis::MatchTables& tables_;
  const std::vector<std::int32_t>& world_ranks_;
  const detect::GroupIndices& groups_;
  std::vector<Task> tasks_;
};

}  // namespace megascope::answer
