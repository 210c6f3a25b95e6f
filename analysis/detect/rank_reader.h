#pragma once

#include "analysis/detect/reduction.h"
#include "analysis/detect/step_finder.h"
#include "analysis/detect/transfers.h"
#include "core/record/event_view.h"
#include "core/record/request_map.h"
#include "core/record/world_ranks.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::detect {

/// Reads one rank's calls step by step, and sums them up in one StepRow a step. One thread at a
/// time; objects of different ranks are independent.
class RankReader {
 public:
  /// index_of: by world rank, the index in source.world_ranks(); −1: its trace is missing.
  /// marks: this rank's step times; if it has none, steps end at the calls that `marker` describes.
  /// source, index_of, and what marks points to must outlive the object.
  RankReader(const RecordSource& source, std::int32_t world_rank,
             const std::vector<std::int32_t>& index_of, const RankMarks& marks,
             const StepMarker& marker);

  /// Reads at least one step. Reads further steps until those that were read have `min_calls` calls
  /// together. Returns false if there are no more steps. Calls after the end of the last step are
  /// not judged.
  bool read_steps(std::uint64_t min_calls);
  /// The messages of the steps read so far, for Transfers::add().
  TransferLog& transfers() { return transfers_; }
  bool has_steps() const { return marks_.end_ns != nullptr || has_marker_; }
  /// Returns the result. Call it once, after read_steps() has returned false.
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
  void add_send(const Call& call, events::Send send);
  void add_receive(const Call& call, events::Receive receive);
  std::int32_t index_of_partner(events::Message message);
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
  std::vector<std::uint64_t> kinds_;  ///< hashes of the kinds of calls, sorted
  RequestMap<std::uint64_t> posted_;  ///< by request in flight, when the receive was posted, in ns
  StepRow row_;
  TransferLog transfers_;
  std::uint64_t hash_ = 0;
  std::uint64_t last_leave_ns_ = 0;
  bool has_begun_ = false;
  Call call_;  ///< the next call, if has_call_
  bool has_call_ = false;
  bool is_first_message_ = true;  ///< no message of the current step has been read
  std::uint64_t votes_ = 0;       ///< Boyer–Moore majority vote on the sequences of the steps
  std::uint64_t candidate_ = 0;
  std::uint64_t candidate_steps_ = 0;  ///< steps with this sequence since it became the candidate
};

}  // namespace megascope::detect
