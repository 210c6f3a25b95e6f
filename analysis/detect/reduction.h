#pragma once

#include "analysis/detect/detect.h"
#include "core/record/source.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::detect {

/// Parts into which the work of a step is divided. part_of() distributes the gaps between calls
/// over the parts. A pause then makes one part longer, and slow work makes all parts longer.
inline constexpr std::size_t kParts = 8;
/// Returns the part of a gap, by its number in the step: the top three bits of its multiple of the
/// golden ratio (Fibonacci hashing). Gaps are distributed evenly for any period of the calls.
inline constexpr std::size_t part_of(std::uint32_t gap) { return (gap * 2654435769U) >> 29; }

/// The sums of one rank in one step.
struct StepRow {
  std::array<float, kParts> work_ns{};  ///< time between MPI calls, by part
  float in_mpi_ns = 0.0F;
  std::uint32_t call_count = 0;
  std::uint64_t end_ns = 0;
};

/// The steps of one rank.
struct RankSteps {
  std::int32_t world_rank = 0;
  std::string host;
  std::uint64_t begin_ns = 0;  ///< begin of the first step
  std::vector<StepRow> steps;
  std::uint64_t sequence = 0;  ///< hash of the sequence of calls of most steps: equal for ranks
                               ///< that make the same calls in the same order
  double
      sequence_share = 0.0;  ///< lower bound of the fraction of the steps that have this sequence
  std::uint64_t vocabulary = 0;  ///< hash of the set of kinds of calls
  std::int32_t
      first_source = kNoPeer;  ///< world rank of the source of the first message in the last step
                               ///< with messages; kNoPeer if this rank sent that message
  bool has_messages = false;   ///< the rank exchanges messages with ranks whose trace is available
  std::vector<std::uint64_t> comm_use;     ///< number of collectives, by CommId
  double work_ns(std::size_t step) const;  ///< sum of the parts
};

/// Messages of one size class and tag from one rank to another. Ranks are indices into
/// Reduced::ranks.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint32_t size_class = 0;  ///< 1 + floor(log2(bytes)); 0 for empty messages
  std::int32_t tag = 0;          ///< once there are 65,536 channels, all new tags are stored as 0
  struct Step {
    float sum_log = 0.0F;     ///< sum of log(transfer time in ns) of the messages in `alone`
    float total_ns = 0.0F;    ///< sum of the transfer times of the messages in `alone` and `others`
    std::uint16_t alone = 0;  ///< messages that were the only operation that their call waited for
    std::uint16_t others = 0;  ///< messages whose call waited for several operations, and that were
                               ///< sent last of the messages of this call
    float sum_log_others = 0.0F;  ///< like sum_log, of the messages in `others`
  };
  std::vector<Step> steps;
};

/// The sums that are judged: by rank and step, and by link and step.
struct Reduced {
  std::vector<RankSteps> ranks;          ///< the judged ranks
  std::vector<Link> links;               ///< the links between judged ranks
  std::size_t step_count = 0;            ///< the smallest number of steps of a judged rank
  std::vector<StepTimes> steps;          ///< by index in world_ranks(), of all ranks
  std::vector<std::string> limitations;  ///< sentences: which ranks or threads are not judged
};

/// Sums up the records of all ranks in one pass. Reads some steps of each rank in turn, so that few
/// messages are in flight. Uses options.steps, jobs and links. A rank is not judged if its number
/// of steps differs from the median of the ranks by more than a fifth.
///
/// The transfer time of a message is the time from its send to the end of the call that received
/// it. It is known only if the receive was posted before the send and the call waited (2 µs or
/// more). If a call waited for several messages, only the one sent last counts.
Reduced reduce(const RecordSource& source, const Options& options);

}  // namespace megascope::detect
