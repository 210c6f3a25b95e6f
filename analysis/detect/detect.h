#pragma once

#include "analysis/common/cause.h"
#include "analysis/detect/step_times.h"
#include "core/record/source.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Finds the ranks, hosts, links and groups that make a run slow. docs/detection.md describes the
/// method.
namespace megascope::detect {

using analysis::Cause;
using analysis::name_of;

/// An example of a root cause: the first slow step of one of its ranks. For a link, the rank is the
/// receiver.
struct Evidence {
  std::string what;  ///< "work between MPI calls", "transfer 2 -> 3"
  std::int32_t world_rank = 0;
  std::int32_t step = 0;       ///< index, from 0
  std::uint64_t begin_ns = 0;  ///< begin of the step on this rank
  std::uint64_t end_ns = 0;
  double observed_ns = 0.0;  ///< duration of `what` in this step
  double expected_ns = 0.0;  ///< observed_ns without the mean slowdown of the root cause
  std::int32_t
      peer_count = 0;  ///< number of ranks with which the rank was compared: the other ranks of its
                       ///< class, or for CPU times all other ranks. 0: the root cause is a link, or
                       ///< the rank was compared with its own past
};

/// A slow set of ranks. Some of its ranks are even slower than the set, and have a root cause of
/// their own.
struct Whole {
  Cause cause = Cause::kStageImbalance;
  std::vector<std::int32_t> ranks;  ///< world ranks, ascending; empty: no such set
  std::int32_t
      stage = -1;  ///< pipeline stage of the set; −1: not a stage, or the groups were not specified

  bool is_there() const { return !ranks.empty(); }
};

/// A reason why the run is slow: the ranks or links, the steps, the slowdown and its cost.
struct RootCause {
  Cause cause = Cause::kSlowCompute;
  std::vector<std::int32_t> ranks;             ///< world ranks, ascending; of a link its two ends
  std::vector<std::string> hosts;              ///< hosts of these ranks, each once
  std::map<std::string, std::int32_t> groups;  ///< the stage or replica, if the root cause is one:
                                               ///< {"pp": 3} or {"dp": 0}; else empty
  bool has_specified_groups = true;  ///< false: the parallel groups were inferred, so the indices
                                     ///< in `groups` mean nothing to users
  double factor = 1.0;               ///< observed over expected time; mean over the active steps
  double balance_factor = 1.0;  ///< the replay divides the work of the ranks by this number. Equal
                                ///< to `factor`, with two exceptions. A stage with more work: its
                                ///< work divided by the mean of all stages, because balancing does
                                ///< not remove work. kInputImbalance: 1
  std::int32_t onset_step = 0;  ///< first active step; index, from 0
  std::int32_t last_step = 0;   ///< last active step
  std::int32_t active_steps = 0;  ///< number of steps in which it was slow
  double
      cost_fraction = 0.0;  ///< cost divided by the duration of all steps, 0 to 1. detect() sets an
                            ///< upper bound. plugin/answer replaces it by the result of the replay
  std::vector<std::int64_t> steps = {};  ///< indices of the active steps, ascending
  double confidence = 0.0;  ///< 1 − p, where p is the probability that noise alone produces a
                            ///< finding of this strength anywhere in the run
  std::string
      synchronised_in;  ///< operations in which the ranks wait for each other, so that the times do
                        ///< not show which of them is slow. Empty if the slow ranks are known
  std::vector<std::pair<std::int32_t, std::int32_t>> links =
      {};        ///< kSlowLink: world ranks of sender and receiver
  Whole within;  ///< slow set that contains these ranks. The ranks are then compared with the other
                 ///< ranks of the set, and `factor` applies in addition to the factor of the set
  Evidence evidence;
  double blocked_ns = 0.0;  ///< kBlocked: blocked time in the whole run in excess of that of the
                            ///< other ranks
  bool is_in_mpi = false;   ///< kBlocked: true if the ranks were blocked inside MPI calls, false if
                            ///< between calls
  double core_wait_ns = 0.0;  ///< kPreempted: time that the ranks waited for a core outside of MPI,
                              ///< from the first to the last step
  std::string core_wait_reason;  ///< kPreempted: why the ranks waited for a core, for example "4
                                 ///< ranks share 2 cores on node n1"; empty: unknown
};

/// Adds the active steps of `from` to those of `to`. Updates onset_step, last_step, active_steps
/// and steps.
void add_steps(const RootCause& from, RootCause& to);

/// Times of steps that are known by definition, for example because the program annotates them.
/// Outer index: index in world_ranks(); inner: step, ascending. Times in ns of the source's clock.
struct StepMarks {
  std::vector<std::vector<std::uint64_t>> end_ns;
  std::vector<std::vector<std::uint64_t>> begin_ns =
      {};  ///< time between steps belongs to no step; empty: a step begins where the previous ends
};
/// The step times of one rank. Points into a StepMarks, which must outlive it.
struct RankMarks {
  const std::vector<std::uint64_t>* end_ns = nullptr;  ///< null: steps are not known
  const std::vector<std::uint64_t>*
      begin_ns = nullptr;  ///< null: a step begins where the previous ends
};
/// Returns the step times of a rank; empty if `marks` is null or has none for it. rank_index: index
/// in world_ranks().
RankMarks marks_of(const StepMarks* marks, std::size_t rank_index);
/// Parallel groups that are known by definition, for example because the program annotates them.
/// For each dimension ("tp", "pp", "dp"): the coordinate of each rank, by index in world_ranks().
/// Ranks with equal "pp" form a stage, which does the same work. Ranks with equal "dp" form a
/// replica.
using GroupIndices = std::map<std::string, std::vector<std::int32_t>>;

/// Work in which the ranks of a group synchronise: a slow member makes it longer for all members.
/// The source contains the work of a group once, as work of its lowest rank. The struct does not
/// own what it points to.
struct SharedWork {
  const RecordSource* source = nullptr;  ///< the work. Its ranks are the lowest ranks of the groups
  const StepMarks*
      steps = nullptr;  ///< steps of the ranks of `source`; as many steps as in Options::steps
  std::vector<std::vector<std::int32_t>>
      members;            ///< world ranks, ascending, by index in source->world_ranks()
  std::string operation;  ///< name of the operation in texts for users, for example "`backward`"
};
struct Link;

struct Options {
  double false_alarm_rate = 3e-4;    ///< probability that a healthy run gets any root cause, if the
                                     ///< noise is as modelled
  double min_factor = 1.012;         ///< smaller slowdowns are not reported
  double clock_error_ns = 1'000.0;   ///< largest difference of any two clocks. A slow link is
                                     ///< reported only if it is slower by more than four times this
  unsigned jobs = 1;                 ///< threads, including the caller's
  const StepMarks* steps = nullptr;  ///< null: steps are found in the sequence of calls
  const GroupIndices*
      groups = nullptr;  ///< null: groups are inferred from communicators and messages
  const std::vector<SharedWork>* shared = nullptr;  ///< null: ranks do not synchronise in work
  const std::vector<Link>*
      links = nullptr;  ///< null: transfers are computed from the records. Link::from and Link::to
                        ///< are indices into source.world_ranks()
};

struct Detection {
  std::vector<RootCause> root_causes;  ///< the most expensive first
  std::int32_t step_count = 0;  ///< number of steps of the judged ranks; 0: no steps were found. A
                                ///< run with fewer than 5 steps is not judged
  std::vector<std::int32_t> judged_ranks;  ///< world ranks
  std::vector<StepTimes> steps;            ///< by index in world_ranks(), of all ranks
  std::vector<std::string> limitations;    ///< sentences: what could not be judged, and why
};

/// Finds the root causes of a run. Call it from one thread; it starts options.jobs − 1 further ones
/// and joins them. What `options` points to must stay valid during the call. The ranks' clocks must
/// agree within options.clock_error_ns. Problems with the data (no steps, a single rank) are
/// reported in `limitations`.
///
/// Time: two passes over the records. The first reads a part of them and finds the steps; the
/// second computes the sums of each step. One more pass is made for each element of options.shared.
/// Memory: 56 bytes for each rank and step, 16 bytes for each link and step, and the messages in
/// flight.
Detection detect(const RecordSource& source, const Options& options = {});

}  // namespace megascope::detect
