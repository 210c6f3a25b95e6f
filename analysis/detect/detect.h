#pragma once

#include "analysis/detect/step_times.h"
#include "core/record/source.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// Which ranks, hosts, links or groups make a run slow, since when, and how. docs/detection.md has
/// the method.
namespace megascope::detect {

enum class Cause : std::uint8_t {
  kSlowCompute,     ///< one rank computes slower than those that do the same work
  kSlowHost,        ///< all ranks of a host do
  kSlowLink,        ///< messages between two ranks take longer
  kHostStall,       ///< a rank pauses between operations, while its other work takes as long as its
                    ///< peers'
  kStageImbalance,  ///< a pipeline stage has more to do, in every replica
  kInputImbalance,  ///< what a replica has to do changes from step to step
  kBlocked,         ///< a rank is neither on a processor nor waiting for one, between MPI calls
                    ///< (analysis/cpu/whole_run.h)
  kPreempted,       ///< a rank that any of these would explain was kept waiting for a core
                    ///< (analysis/cpu/preempted.h)
};
/// "slow_compute", "slow_host" …
std::string name_of(Cause cause);

/// What shows it: the worst step of one rank.
struct Evidence {
  std::string what;  ///< "work between MPI calls", "transfer 2 -> 3"
  std::int32_t world_rank = 0;
  std::int32_t step = 0;
  std::uint64_t begin_ns = 0;  ///< of that rank's step
  std::uint64_t end_ns = 0;
  double observed_ns = 0.0;
  double expected_ns = 0.0;     ///< what its peers, or its own other steps, took
  std::int32_t peer_count = 0;  ///< 0: compared with its own past
};

/// Ranks that are slow together, among which a root cause is slower still.
struct Whole {
  Cause cause = Cause::kStageImbalance;
  std::vector<std::int32_t> ranks;  ///< world ranks, ascending; empty: there is none
  std::int32_t stage = -1;          ///< of a pipeline whose groups were specified; else -1

  bool is_there() const { return !ranks.empty(); }
};

struct RootCause {
  Cause cause = Cause::kSlowCompute;
  std::vector<std::int32_t> ranks;  ///< world ranks, ascending; of a link its two ends
  std::vector<std::string> hosts;   ///< of those ranks, each once
  std::map<std::string, std::int32_t>
      groups;                        ///< "pp": 3, "dp": 0; where the root cause is a group
  bool has_specified_groups = true;  ///< of parallel training; else they were inferred, and
                                     ///< `groups` is no name that users know
  double factor = 1.0;               ///< time over expected time, in the steps in which it was slow
  double balance_factor = 1.0;  ///< the same over what would be left to do: for work that has to be
                                ///< done by somebody, the mean of those compared
  std::int32_t onset_step = 0;
  std::int32_t last_step = 0;
  std::int32_t active_steps = 0;  ///< between the two, in which it was slow
  double cost_fraction = 0.0;     ///< of the time of all steps: what its excess work comes to, at
                                  ///< most; once it was replayed, what it cost
  std::vector<std::int64_t> steps = {};  ///< those active steps, ascending
  double confidence = 0.0;      ///< 1 − the chance that noise alone does this anywhere in the run
  std::string synchronised_in;  ///< operations in which the ranks wait for each other, where that
                                ///< hides which of them is slow; else empty
  std::vector<std::pair<std::int32_t, std::int32_t>> links = {};  ///< of slow links: from, to
  Whole within;  ///< another root cause, whose ranks this one is compared with: its factor comes in
                 ///< addition to theirs
  Evidence evidence;
  double blocked_ns = 0.0;    ///< kBlocked: beyond what others are, in the whole run
  bool is_in_mpi = false;     ///< kBlocked: inside of calls
  double core_wait_ns = 0.0;  ///< kPreempted: that the ranks waited for a core outside of MPI, from
                              ///< the first to the last step
  std::string core_wait_reason;  ///< kPreempted: "4 ranks share 2 cores on node n1"; empty: it is
                                 ///< not known who had the cores
};

/// Steps known by definition, where the program tells them: by index in world_ranks(), when each
/// ends and begins, ascending.
struct StepMarks {
  std::vector<std::vector<std::uint64_t>> end_ns;
  std::vector<std::vector<std::uint64_t>> begin_ns =
      {};  ///< what is between steps is none's; empty: each begins where the one before ends
};
/// Of one rank.
struct RankMarks {
  const std::vector<std::uint64_t>* end_ns = nullptr;  ///< null: not known
  const std::vector<std::uint64_t>*
      begin_ns = nullptr;  ///< null: each begins where the one before ends
};
RankMarks marks_of(const StepMarks* marks, std::size_t rank_index);
/// Groups known by definition: for each name ("tp", "pp", "dp") the index of the group's member, by
/// index in world_ranks(). Ranks of equal "pp" do the same work; of equal "dp" are a replica.
using GroupIndices = std::map<std::string, std::vector<std::int32_t>>;

/// Work that groups of ranks do in step with each other, since they synchronise inside: a slow
/// member makes it longer for all.
struct SharedWork {
  const RecordSource* source = nullptr;  ///< of each group its lowest rank
  const StepMarks* steps = nullptr;      ///< of those; as many as Options::steps has
  std::vector<std::vector<std::int32_t>>
      members;            ///< world ranks, ascending, by index in source->world_ranks()
  std::string operation;  ///< "`backward`"
};
struct Link;

struct Options {
  double false_alarm_rate = 3e-4;   ///< chance that a healthy run gets a root cause, where noise is
                                    ///< as the model says
  double min_factor = 1.012;        ///< below which a difference is not worth a word
  double clock_error_ns = 1'000.0;  ///< between any two ranks; a link must be slower by more than
                                    ///< four times this
  unsigned jobs = 1;                ///< threads to work with, the caller's among them
  const StepMarks* steps = nullptr;                 ///< null: found in the sequence of calls
  const GroupIndices* groups = nullptr;             ///< null: found from communicators and messages
  const std::vector<SharedWork>* shared = nullptr;  ///< null: all work is a rank's own
  const std::vector<Link>*
      links = nullptr;  ///< null: found in the records. Ranks are indices into source.world_ranks()
};

struct Detection {
  std::vector<RootCause> root_causes;      ///< the most expensive first
  std::int32_t step_count = 0;             ///< 0: no steps were found, and nothing was judged
  std::vector<std::int32_t> judged_ranks;  ///< world ranks
  std::vector<StepTimes> steps;            ///< by index in world_ranks(), of all ranks
  std::vector<std::string> limitations;    ///< sentences on what could not be judged
};

/// Two passes over the records: a short one that finds the steps, a streaming one that sums them
/// up. Memory: 48 bytes a rank and step, 4 a link and step, and the messages in flight. Times of
/// the source are on one clock, as well as `options` says.
Detection detect(const RecordSource& source, const Options& options = {});

}  // namespace megascope::detect
