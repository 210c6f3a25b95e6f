#include "exporters/report/shares.h"

#include "core/base/text.h"
#include "exporters/report/text_sections.h"

#include <fmt/format.h>

#include <algorithm>

namespace megascope::report {
namespace {

// Thresholds below which a difference is not mentioned.
constexpr double kClearSpread = 0.10;  // difference between one rank and all others
constexpr double kEvenSpread = 0.05;   // difference between minimum and maximum
constexpr double kLittleShare = 0.05;  // below it, communication is called insignificant
constexpr std::uint64_t kShortRunNs = 10'000'000;

double percent(double share) { return 100.0 * share; }

std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

/// Time of all threads of a rank after start-up.
double available_ns(const RankRow& rank) {
  return static_cast<double>(minus(rank.wall_ns, rank.startup_ns)) *
         std::max(1U, rank.thread_count);
}

double waiting_ns(const RankRow& rank) {
  return std::min(static_cast<double>(minus(rank.mpi_time_ns, rank.startup_ns)),
                  available_ns(rank));
}

/// The rank with clearly less time in MPI than all others, if the others differ less among
/// themselves; else nullptr.
const RankRow* one_late_rank(const TimeShares& shares) {
  if (shares.by_share.size() < 2) return nullptr;
  const double next = mpi_share(*shares.by_share[1]);
  const double gap = next - mpi_share(*shares.by_share[0]);
  const double spread_of_others = mpi_share(*shares.by_share.back()) - next;
  return gap >= kClearSpread && gap > spread_of_others ? shares.by_share[0] : nullptr;
}

}  // namespace

double mpi_share(const RankRow& rank) {
  const double available = available_ns(rank);
  return available > 0 ? waiting_ns(rank) / available : 0.0;
}

bool is_too_short(const TimeShares& shares) {
  return minus(shares.wall_ns, shares.startup_ns) < kShortRunNs;
}

TimeShares time_shares(const RunReport& report) {
  TimeShares shares;
  double available = 0;
  double waiting = 0;
  double max_outside = 0;
  for (const RankRow& rank : report.ranks) {
    shares.by_share.push_back(&rank);
    available += available_ns(rank);
    waiting += waiting_ns(rank);
    shares.wall_ns = std::max(shares.wall_ns, rank.wall_ns);
    shares.startup_ns = std::max(shares.startup_ns, rank.startup_ns);
    const double outside = (available_ns(rank) - waiting_ns(rank)) /
                           std::max(1U, rank.thread_count);
    if (shares.busiest_rank < 0 || outside > max_outside) {
      max_outside = outside;
      shares.busiest_rank = rank.world_rank;
    }
  }
  std::stable_sort(
      shares.by_share.begin(), shares.by_share.end(),
      [](const RankRow* a, const RankRow* b) { return mpi_share(*a) < mpi_share(*b); });
  const std::size_t count = shares.by_share.size();
  if (count == 0) return shares;
  shares.median = (mpi_share(*shares.by_share[(count - 1) / 2]) +
                   mpi_share(*shares.by_share[count / 2])) /
                  2;
  if (available > 0) shares.run = waiting / available;
  double outside_sum = 0;
  for (const RankRow& rank : report.ranks) {
    outside_sum += (available_ns(rank) - waiting_ns(rank)) / std::max(1U, rank.thread_count);
  }
  if (max_outside > 0)
    shares.imbalance = 1.0 - outside_sum / static_cast<double>(count) / max_outside;
  return shares;
}

std::string first_verdict(const RunReport& report, const TimeShares& shares) {
  if (report.ranks.empty()) return {};
  if (report.pending_count != 0) {
    return fmt::format("The run ended inside {} MPI call{}: see the pending calls below.",
                       report.pending_count, report.pending_count == 1 ? "" : "s");
  }
  if (is_too_short(shares)) return "The run is too short for a breakdown of its time.";
  if (shares.run < kLittleShare) {
    return fmt::format(
        "MPI takes {:.1f} % of the ranks' time: communication is not significant in this run.",
        percent(shares.run));
  }
  if (report.ranks.size() == 1)
    return fmt::format("The rank spends {:.0f} % of its time in MPI.", percent(shares.run));
  const RankRow& least = *shares.by_share.front();
  const RankRow& most = *shares.by_share.back();
  const double spread = mpi_share(most) - mpi_share(least);
  if (const RankRow* late = one_late_rank(shares)) {
    return fmt::format(
        "Ranks spend {:.0f} % of their time in MPI; rank {} the least ({}), so the others probably "
        "wait for it.",
        percent(shares.run), late->world_rank, percent_text(mpi_share(*late)));
  }
  if (spread < kEvenSpread) {
    return fmt::format("Ranks spend {:.0f} % of their time in MPI, all about equally.",
                       percent(shares.run));
  }
  return fmt::format(
      "Ranks spend {:.0f} % of their time in MPI, from {:.0f} % (rank {}) to {:.0f} % (rank {}).",
      percent(shares.run), percent(mpi_share(least)), least.world_rank, percent(mpi_share(most)),
      most.world_rank);
}

}  // namespace megascope::report
