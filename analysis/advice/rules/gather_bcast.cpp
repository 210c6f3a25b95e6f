#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

namespace megascope::advice {
namespace {

constexpr std::uint64_t kMinCount = 10;
constexpr double kMinRootShare = 0.5;  ///< fraction of the pairs; if the root works in between,
                                       ///< both calls are needed

void add(const Facts& facts, const RowGroup& group, bool is_gather, Findings& found) {
  const Row& sum = group.sum;
  const double share = share_of(facts, static_cast<double>(sum.time_ns));
  if (group.max_count < kMinCount || share < kMinShare) return;
  if (static_cast<double>(sum.root_count) < kMinRootShare * static_cast<double>(group.max_count))
    return;
  const std::uint64_t size = sum.comm == kNoIndex
                                 ? 0
                                 : static_cast<std::uint64_t>(facts.comms[sum.comm].size);
  const bool returns_all = is_gather && size > 1 && 2 * sum.bytes >= size * sum.bytes_before;
  const std::string remedy = !is_gather || !returns_all
                                 ? "Use MPI_Allreduce (MPI_Op_create defines operations that MPI "
                                   "does not have). It is one call, no single rank receives and "
                                   "sends all data, and the library chooses the algorithm."
                                 : "Use MPI_Allgather: one call gives every rank the data of all "
                                   "ranks, without passing them through the root.";
  found.push_back({.rule = "gather_bcast",
                   .text = std::string(is_gather ? "MPI_Gather" : "MPI_Reduce") +
                           " is followed by MPI_Bcast of the same root " +
                           human_count(group.max_count) + " times, " +
                           call_site_text(facts, sum.function, sum.comm, sum.site) + "; " +
                           ranks_text(facts, group.ranks) + " spend " + percent(share) +
                           " of the run in these calls.",
                   .remedy = remedy,
                   .ranks = group.ranks,
                   .count = group.max_count,
                   .share = share,
                   .function = sum.function,
                   .comm = sum.comm,
                   .site = sum.site,
                   .region = {}});
}

}  // namespace

/// Finds a gather or reduction to a root, followed by a broadcast of the result.
void find_gather_bcast(const Facts& facts, Findings& found) {
  for (const RowGroup& group : groups_of(facts, Pattern::kGatherBcast))
    add(facts, group, true, found);
  for (const RowGroup& group : groups_of(facts, Pattern::kReduceBcast))
    add(facts, group, false, found);
}

}  // namespace megascope::advice
