#pragma once

#include "analysis/detect/reduction.h"
#include "analysis/detect/step_finder.h"
#include "analysis/detect/transfers.h"
#include "core/record/id_map.h"
#include "core/record/world_ranks.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::detect {

/// Reads one rank's calls a step at a time into its rows.
class RankReader {
 public:
  /// index_of: of a world rank among the ranks, −1: its trace is not here. marks: this rank's;
  /// where it has none, `marker` ends its steps. All but the marker outlive the object.
  RankReader(const RecordSource& source, std::int32_t world_rank,
             const std::vector<std::int32_t>& index_of, const RankMarks& marks,
             const StepMarker& marker);

  /// Reads to the end of the next step, or of so many that they have `min_calls`. False: there is
  /// none; what is behind the last step's end is not judged.
  bool read_steps(std::uint64_t min_calls);
  /// What was read of messages.
  TransferLog& transfers() { return transfers_; }
  bool has_steps() const { return marks_.end_ns != nullptr || has_marker_; }
  /// After the last step.
  RankSteps take();

 private:
  bool fetch();
  bool ends_step(const Call& call);
  bool has_ended_before(const Call& call) const;
  std::uint64_t step_begin_ns() const;
  bool begin(const Call& call);
  void add_gap(std::uint64_t gap_ns);
  bool read_step();
  void add_facts(const Call& call);
  void add_message(const Call& call, const Fact& fact);
  void note_kind(const Call& call);
  void end_step(std::uint64_t end_ns);

  const std::vector<std::int32_t>& index_of_;
  RankMarks marks_;
  std::size_t index_ = 0;
  WorldRanks world_ranks_;
  bool has_marker_;
  StepEnds ends_;
  std::unique_ptr<CallStream> calls_;
  RankSteps result_;
  std::vector<std::uint64_t> name_of_region_;
  std::vector<std::uint64_t> name_of_comm_;
  std::vector<std::uint64_t> size_of_comm_;
  std::vector<std::uint64_t> kinds_;  ///< seen in any step, sorted
  RequestMap<std::uint64_t> posted_;  ///< when receives in flight were posted
  StepRow row_;
  TransferLog transfers_;
  std::uint64_t hash_ = 0;
  std::uint64_t last_leave_ns_ = 0;
  bool has_begun_ = false;
  Call call_;  ///< the next
  bool has_call_ = false;
  bool is_first_message_ = true;
  std::uint64_t votes_ = 0;  ///< Boyer and Moore's majority vote
  std::uint64_t candidate_ = 0;
  std::uint64_t candidate_steps_ = 0;  ///< since it became the candidate
};

}  // namespace megascope::detect
