#pragma once

#include "analysis/detect/detect.h"
#include "core/record/source.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::detect {

/// A rank's work in a step is kept in parts, among which the gaps between calls are spread by their
/// number (part_of): a pause is in one of them, slow work in all.
inline constexpr std::size_t kParts = 8;
/// The golden ratio's multiples lie evenly, those of any stride too: for any length of a loop, its
/// work is in all parts.
inline constexpr std::size_t part_of(std::uint32_t gap) { return (gap * 2654435769U) >> 29; }

/// One rank in one step.
struct StepRow {
  std::array<float, kParts> work_ns{};  ///< time between MPI calls
  float in_mpi_ns = 0.0F;
  std::uint32_t call_count = 0;
  std::uint64_t end_ns = 0;
};

struct RankSteps {
  std::int32_t world_rank = 0;
  std::string host;
  std::uint64_t begin_ns = 0;  ///< of the first step
  std::vector<StepRow> steps;
  std::uint64_t sequence = 0;    ///< of the calls of most steps: equal where ranks do the same
  double sequence_share = 0.0;   ///< of the steps
  std::uint64_t vocabulary = 0;  ///< of the kinds of calls, without their number and order
  std::int32_t first_source = kNoPeer;  ///< world rank from which the last step's first message
                                        ///< came, were it received first
  bool has_messages = false;
  std::vector<std::uint64_t> comm_use;  ///< collectives, by CommId
  double work_ns(std::size_t step) const;
};

/// Messages of one size class and tag from a rank to another, in indices into Reduced::ranks.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint32_t size_class = 0;  ///< 1 + floor(log2(bytes))
  std::int32_t tag = 0;          ///< 0 for all where there are very many
  struct Step {
    float sum_log = 0.0F;  ///< of log(transfer in ns) of what was received alone
    float total_ns = 0.0F;
    std::uint16_t alone = 0;   ///< messages whose receive was all that its call waited for
    std::uint16_t others = 0;  ///< messages whose call waited for something else too, and which
                               ///< were sent last
    float sum_log_others = 0.0F;
  };
  std::vector<Step> steps;
};

/// What the judges see: by rank and step, by link and step.
struct Reduced {
  std::vector<RankSteps> ranks;
  std::vector<Link> links;
  std::size_t step_count = 0;    ///< that all of the ranks have
  std::vector<StepTimes> steps;  ///< by index in world_ranks(), of all ranks
  std::vector<std::string> limitations;
};

/// One pass over the records of all ranks, some steps of each rank in turn, so that messages in
/// flight are few. A message's transfer time is counted from its send to the end of the call in
/// which it was received, where the receive was posted before and that call had to wait: of others
/// nothing is known, since they may have lain there. Of several that one call waited for, the last
/// sent counts.
Reduced reduce(const RecordSource& source, const Options& options);

}  // namespace megascope::detect
