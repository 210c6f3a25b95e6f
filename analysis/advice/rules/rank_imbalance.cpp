#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>
#include <cmath>

namespace megascope::advice {
namespace {

constexpr double kMinCost = 0.02;  ///< fraction of the run; machines themselves are uneven by less
constexpr double
    kMinTrend = 0.2;             ///< difference between the first and the last rank, over the mean
constexpr double kMinFit = 0.9;  ///< R² of the line
constexpr std::size_t kFewRanks = 8;
constexpr double kMinFitOfFew = 0.97;  ///< for fewer than kFewRanks, which lie on a line by chance
constexpr double kMinTrendOfFew = 0.4;
constexpr double
    kMinStep = 0.1;  ///< difference between the first ranks and the others, over the mean
constexpr double kMaxSpread = 1.0 / 3;  ///< spread within either set of ranks, over that difference
constexpr std::size_t kMinRanks = 4;
constexpr std::size_t kMinRanksOfSteps = 6;

struct Work {
  std::vector<double> time_ns;  ///< by index in Facts::ranks
  double mean_ns = 0.0;
  double max_ns = 0.0;
};

Work work_of(const Facts& facts) {
  Work work;
  for (const RankFacts& rank : facts.ranks) {
    work.time_ns.push_back(static_cast<double>(rank.wall_ns - std::min(rank.mpi_ns, rank.wall_ns)));
    work.mean_ns += work.time_ns.back() / static_cast<double>(facts.ranks.size());
    work.max_ns = std::max(work.max_ns, work.time_ns.back());
  }
  return work;
}

struct Line {
  double trend = 0.0;  ///< difference between the first and the last rank, over the mean
  double fit = 0.0;    ///< R²
};

Line line_through(const Work& work) {
  const auto count = static_cast<double>(work.time_ns.size());
  const double middle = (count - 1.0) / 2.0;
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < work.time_ns.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    const double y = work.time_ns[i] - work.mean_ns;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx <= 0.0 || yy <= 0.0) return {};
  return {.trend = xy / xx * (count - 1.0) / work.mean_ns, .fit = xy * xy / (xx * yy)};
}

bool is_line(const Line& line, std::size_t rank_count) {
  const bool are_few = rank_count < kFewRanks;
  return std::abs(line.trend) >= (are_few ? kMinTrendOfFew : kMinTrend) &&
         line.fit >= (are_few ? kMinFitOfFew : kMinFit);
}

/// Returns how many of the first ranks have clearly more work than all others; 0: none.
std::size_t first_with_more(const Work& work) {
  const std::size_t count = work.time_ns.size();
  if (count < kMinRanksOfSteps) return 0;
  for (std::size_t split = 2; split + 2 <= count; ++split) {
    const auto middle = work.time_ns.begin() + static_cast<std::ptrdiff_t>(split);
    const auto [least_of_first, most_of_first] = std::minmax_element(work.time_ns.begin(), middle);
    const auto [least_of_rest, most_of_rest] = std::minmax_element(middle, work.time_ns.end());
    const double step = *least_of_first - *most_of_rest;
    const double spread = std::max(*most_of_first - *least_of_first,
                                   *most_of_rest - *least_of_rest);
    if (step >= kMinStep * work.mean_ns && spread <= kMaxSpread * step) return split;
  }
  return 0;
}

/// Returns whether no host has both one of the first `split` ranks and one of the others.
bool is_between_hosts(const Facts& facts, std::size_t split) {
  for (std::size_t i = 0; i < split; ++i) {
    for (std::size_t j = split; j < facts.ranks.size(); ++j) {
      if (facts.ranks[i].host == facts.ranks[j].host) return false;
    }
  }
  return true;
}

}  // namespace

/// Finds work that is a linear function of the rank number, or is larger on the first ranks: the
/// data are divided unevenly.
void find_rank_imbalance(const Facts& facts, Findings& found) {
  if (facts.ranks.size() < kMinRanks) return;
  const Work work = work_of(facts);
  const double ranks = static_cast<double>(facts.ranks.size());
  const double lost_ns = (work.max_ns - work.mean_ns) * ranks;
  double waited_ns = 0.0;
  for (const RankFacts& rank : facts.ranks)
    waited_ns += static_cast<double>(rank.waited_for_at_all.wait_ns);
  const double share = share_of(facts, std::min(lost_ns, waited_ns));
  if (work.mean_ns <= 0.0 || share < kMinCost) return;
  const Line line = line_through(work);
  std::string text;
  std::vector<std::int32_t> heavy;
  if (is_line(line, facts.ranks.size())) {
    text = std::string("Work outside of MPI ") + (line.trend > 0 ? "grows" : "falls") +
           " with the rank's number, by " + percent(std::abs(line.trend)) +
           " of the mean from the first rank to the last";
    heavy.push_back(line.trend > 0 ? facts.ranks.back().world_rank
                                   : facts.ranks.front().world_rank);
  } else {
    const std::size_t split = first_with_more(work);
    if (split == 0 || is_between_hosts(facts, split)) return;
    for (std::size_t i = 0; i < split; ++i) heavy.push_back(facts.ranks[i].world_rank);
    text = "The first " + std::to_string(split) +
           " ranks have clearly more work outside of MPI than all others";
  }
  found.push_back(
      {.rule = "rank_imbalance",
       .text = text + ": the most loaded rank has " + percent(work.max_ns / work.mean_ns - 1.0) +
               " more than the mean, and the others wait for it.",
       .remedy = "Divide the data by the work they cause, not by their number: cyclic or weighted "
                 "blocks (triangular loops), remainders over all ranks instead of the first ones, "
                 "or a partitioner (METIS, Zoltan) or dynamic balancing.",
       .ranks = std::move(heavy),
       .count = facts.ranks.size(),
       .share = share,
       .function = kNoIndex,
       .comm = kNoIndex,
       .site = kNoIndex,
       .region = {}});
}

}  // namespace megascope::advice
