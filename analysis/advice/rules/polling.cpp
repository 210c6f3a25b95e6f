#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

namespace megascope::advice {

/// Finds loops around MPI_Test and MPI_Iprobe without work in between.
void find_polling(const Facts& facts, Findings& found) {
  constexpr std::uint64_t kMinCount = 1000;
  for (const RowGroup& group : groups_of(facts, Pattern::kPoll)) {
    const Row& sum = group.sum;
    const double share = share_of(facts, static_cast<double>(sum.time_ns));
    if (sum.count < kMinCount || share < kMinShare) continue;
    found.push_back({.rule = "polling",
                     .text = human_count(sum.count) +
                             " polls in loops without work in between take " + percent(share) +
                             " of the run, " + duration(static_cast<double>(sum.time_ns)) +
                             " in all on " + ranks_text(facts, group.ranks) + ", " +
                             call_site_text(facts, sum.function, sum.comm, sum.site) + ".",
                     .remedy = "Do work between two polls, or block in MPI_Wait, MPI_Waitany or "
                               "MPI_Probe: the library then makes progress, or yields the core. "
                               "The polled operations complete late: the wait states show which "
                               "ranks delay others.",
                     .ranks = group.ranks,
                     .count = sum.count,
                     .share = share,
                     .function = sum.function,
                     .comm = sum.comm,
                     .site = sum.site,
                     .region = {}});
  }
}

}  // namespace megascope::advice
