#include "analysis/cpu/preempted.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

namespace megascope::cpu {
namespace {

using detect::Cause;
using detect::RootCause;

constexpr double kExplained = 0.5;  ///< share of the excess from which a time counts as its cause
constexpr double kMinExcess = 1e-3;
constexpr double kComputesMoreInAll = 1.05;  ///< CPU time outside and inside together must then
                                             ///< exceed the others' by this factor, too
constexpr double
    kComputesMore = 1.15;  ///< factor of CPU time over that of the others; with this factor and
constexpr double kOfTheExcess = 1.0 /
                                3;  ///< this share of the excess a rank counts as computing longer

/// The ranks of a root cause and the other judged ranks, in the steps in which the root cause was
/// active.
struct Compared {
  CpuSums mine;                     ///< outside of MPI, of all its ranks
  CpuSums peers;                    ///< the same of the others; wall_ns 0: there are none
  std::vector<double> peer_cpu_ns;  ///< of each of the others
  std::vector<double> peer_wall_ns;
  std::size_t rank_count = 0;
  double wait_ns = 0.0;                 ///< of its ranks, from its first to its last step
  double wait_in_mpi_ns = 0.0;          ///< of its ranks
  double all_cpu_ns = 0.0;              ///< of its ranks, outside of MPI and inside
  std::vector<double> peer_all_cpu_ns;  ///< the same of each of the others
  bool is_measured = true;              ///< sums outside of MPI are mostly measured
  double excess_ns = 0.0;  ///< excess time per rank over ranks with the same work, from the root
                           ///< cause's factor

  double of_one(double CpuSums::*what) const {
    return mine.*what / static_cast<double>(rank_count);
  }
  double of_one_peer(double CpuSums::*what) const {
    return peer_wall_ns.empty() ? 0.0 : peers.*what / static_cast<double>(peer_wall_ns.size());
  }
};

/// Neither on a processor nor waiting for one.
double blocked_ns(double wall_ns, double cpu_ns, double wait_ns) {
  return std::max(0.0, wall_ns - cpu_ns - wait_ns);
}

bool is_in(const std::vector<std::int32_t>& ranks, std::int32_t rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The steps from the root cause's first to its last.
std::vector<std::size_t> all_steps(const std::vector<const RankCpu*>& ranks,
                                   const RootCause& root_cause) {
  std::vector<std::size_t> steps;
  const std::size_t last = std::min(static_cast<std::size_t>(std::max(root_cause.last_step, 0)) + 1,
                                    ranks.front()->steps.size());
  for (auto step = static_cast<std::size_t>(std::max(root_cause.onset_step, 0)); step < last;
       ++step)
    steps.push_back(step);
  return steps;
}

/// The steps in which its slowest rank worked longest, as many as the root cause has active steps.
std::vector<std::size_t> slow_steps(const std::vector<const RankCpu*>& ranks,
                                    const RootCause& root_cause) {
  std::vector<std::size_t> steps = all_steps(ranks, root_cause);
  const auto work_ns = [&](std::size_t step) {
    double most = 0.0;
    for (const RankCpu* rank : ranks) most = std::max(most, rank->steps[step].outside.wall_ns);
    return most;
  };
  const auto count = std::min(steps.size(),
                              static_cast<std::size_t>(std::max(root_cause.active_steps, 1)));
  std::ranges::stable_sort(steps,
                           [&](std::size_t a, std::size_t b) { return work_ns(a) > work_ns(b); });
  steps.resize(count);
  return steps;
}

CpuSums outside_in(const RankCpu& rank, const std::vector<std::size_t>& steps) {
  CpuSums sums;
  for (const std::size_t step : steps) sums.add(rank.steps[step].outside);
  return sums;
}

double all_cpu_in(const RankCpu& rank, const std::vector<std::size_t>& steps) {
  double cpu_ns = 0.0;
  for (const std::size_t step : steps)
    cpu_ns += rank.steps[step].outside.cpu_ns + rank.steps[step].inside.cpu_ns;
  return cpu_ns;
}

double wait_from_first_to_last(const RankCpu& rank, const RootCause& root_cause) {
  double wait_ns = 0.0;
  for (std::size_t step = 0; step < rank.steps.size(); ++step) {
    const auto number = static_cast<std::int32_t>(step);
    if (number >= root_cause.onset_step && number <= root_cause.last_step)
      wait_ns += rank.steps[step].outside.wait_ns;
  }
  return wait_ns;
}

class Judge {
 public:
  Judge(const std::vector<RankCpu>& times, std::span<const SharedCores> shared,
        detect::Detection& detection)
      : times_(times), shared_(shared), detection_(detection) {}

  void run() {
    for (RootCause& root_cause : detection_.root_causes) {
      if (analysis::is_of_messages(root_cause.cause)) continue;
      if (is_preempted(root_cause))
        root_cause.cause = Cause::kPreempted;
      else
        root_cause.core_wait_ns = 0.0;
    }
    merge();
  }

 private:
  bool is_judged(const RankCpu& rank) const {
    return rank.has_readings() && rank.has_wait && !rank.steps.empty() &&
           is_in(detection_.judged_ranks, rank.world_rank);
  }

  bool is_preempted(RootCause& root_cause) const {
    std::vector<const RankCpu*> mine;
    for (const RankCpu& rank : times_) {
      if (is_in(root_cause.ranks, rank.world_rank) && is_judged(rank)) mine.push_back(&rank);
    }
    if (mine.size() != root_cause.ranks.size()) return false;
    const Compared compared = compare(mine, root_cause, slow_steps(mine, root_cause));
    if (compared.mine.wall_ns <= 0) return false;
    root_cause.core_wait_ns = compared.wait_ns;
    const bool is_interpolated = std::ranges::any_of(
        mine, [](const RankCpu* rank) { return rank->is_interpolated(); });
    if (computes_longer(is_interpolated ? compare(mine, root_cause, all_steps(mine, root_cause))
                                        : compared) ||
        is_blocked_longer(compared))
      return false;
    if (is_explained_by_share(compared, root_cause.factor) || is_explained_by_difference(compared))
      return true;
    return shared_by(root_cause.ranks) != nullptr && is_explained_by_sharing(compared);
  }

  Compared compare(const std::vector<const RankCpu*>& mine, const RootCause& root_cause,
                   const std::vector<std::size_t>& steps) const {
    Compared compared;
    compared.rank_count = mine.size();
    for (const RankCpu* rank : mine) {
      compared.mine.add(outside_in(*rank, steps));
      for (const std::size_t step : steps)
        compared.wait_in_mpi_ns += rank->steps[step].inside.wait_ns;
      compared.all_cpu_ns += all_cpu_in(*rank, steps);
      compared.is_measured = compared.is_measured && rank->is_measured();
      compared.wait_ns += wait_from_first_to_last(*rank, root_cause);
    }
    for (const RankCpu& rank : times_) {
      if (is_in(root_cause.ranks, rank.world_rank) || !is_judged(rank)) continue;
      const CpuSums sums = outside_in(rank, steps);
      compared.peers.add(sums);
      compared.peer_cpu_ns.push_back(sums.cpu_ns);
      compared.peer_wall_ns.push_back(sums.wall_ns);
      compared.peer_all_cpu_ns.push_back(all_cpu_in(rank, steps));
    }
    compared.excess_ns = compared.of_one(&CpuSums::wall_ns) *
                         (1 - 1 / std::max(root_cause.factor, 1.0));
    return compared;
  }

  static bool is_blocked_longer(const Compared& compared) {
    const double mine_ns = blocked_ns(compared.of_one(&CpuSums::wall_ns),
                                      compared.of_one(&CpuSums::cpu_ns),
                                      compared.of_one(&CpuSums::wait_ns));
    const double peers_ns = blocked_ns(compared.of_one_peer(&CpuSums::wall_ns),
                                       compared.of_one_peer(&CpuSums::cpu_ns),
                                       compared.of_one_peer(&CpuSums::wait_ns));
    return mine_ns - peers_ns >= kExplained * compared.excess_ns;
  }

  /// For ranks that share cores: readings do not separate waiting outside of MPI from waiting
  /// inside, so that both count.
  static bool is_explained_by_sharing(const Compared& compared) {
    return (compared.mine.wait_ns + compared.wait_in_mpi_ns) /
               static_cast<double>(compared.rank_count) >=
           kExplained * compared.excess_ns;
  }

  /// Does waiting explain the factor? Compares the factor with what remains of it without the
  /// waiting time of all ranks. factor: time of the root cause's ranks over that of ranks with the
  /// same work.
  static bool is_explained_by_share(const Compared& compared, double factor) {
    if (factor - 1 < kMinExcess) return false;
    const double waited = compared.mine.wait_ns / compared.mine.wall_ns;
    const double peers_waited = compared.peers.wall_ns > 0
                                    ? compared.peers.wait_ns / compared.peers.wall_ns
                                    : 0.0;
    const double left = factor * (1 - std::min(waited, 1.0)) /
                        std::max(1 - peers_waited, kMinExcess);
    return factor - left >= kExplained * (factor - 1);
  }

  static bool computes_longer(const Compared& compared) {
    const double usual_cpu_ns = median(compared.peer_cpu_ns);
    const double cpu_excess_ns = compared.of_one(&CpuSums::cpu_ns) - usual_cpu_ns;
    const double excess_ns = compared.of_one(&CpuSums::wall_ns) - median(compared.peer_wall_ns);
    const double all_cpu_ns = compared.all_cpu_ns / static_cast<double>(compared.rank_count);
    if (!compared.is_measured && all_cpu_ns < kComputesMoreInAll * median(compared.peer_all_cpu_ns))
      return false;
    return usual_cpu_ns > 0 && cpu_excess_ns > (kComputesMore - 1) * usual_cpu_ns &&
           cpu_excess_ns >= kOfTheExcess * excess_ns;
  }

  /// Compared with the median of all other ranks: is the time outside of MPI longer, the CPU time
  /// not, and is the difference waiting?
  static bool is_explained_by_difference(const Compared& compared) {
    const double usual_wall_ns = median(compared.peer_wall_ns);
    const double excess_ns = compared.of_one(&CpuSums::wall_ns) - usual_wall_ns;
    const double cpu_excess_ns = compared.of_one(&CpuSums::cpu_ns) - median(compared.peer_cpu_ns);
    if (usual_wall_ns <= 0 || excess_ns <= kMinExcess * usual_wall_ns) return false;
    const double wait_excess_ns = compared.of_one(&CpuSums::wait_ns) -
                                  compared.of_one_peer(&CpuSums::wait_ns);
    return cpu_excess_ns < (1 - kExplained) * excess_ns && wait_excess_ns >= kExplained * excess_ns;
  }

  const SharedCores* shared_by(const std::vector<std::int32_t>& ranks) const {
    for (const SharedCores& shared : shared_) {
      if (std::ranges::all_of(ranks, [&](std::int32_t rank) { return is_in(shared.ranks, rank); }))
        return &shared;
    }
    return nullptr;
  }

  /// Merges the preempted root causes of ranks that share the same cores into the first of them.
  void merge() {
    std::vector<RootCause> kept;
    for (RootCause& root_cause : detection_.root_causes) {
      const SharedCores* const shared = root_cause.cause == Cause::kPreempted
                                            ? shared_by(root_cause.ranks)
                                            : nullptr;
      if (shared != nullptr) root_cause.core_wait_reason = to_text(*shared);
      const auto same = std::ranges::find_if(kept, [&](const RootCause& other) {
        return shared != nullptr && other.cause == Cause::kPreempted &&
               other.core_wait_reason == root_cause.core_wait_reason;
      });
      if (same == kept.end())
        kept.push_back(std::move(root_cause));
      else
        merge(root_cause, *same);
    }
    for (RootCause& root_cause : kept) {
      if (root_cause.cause == Cause::kPreempted)
        root_cause.groups.clear();  // they are no stage or replica here
    }
    detection_.root_causes = std::move(kept);
  }

  void merge(const RootCause& from, RootCause& to) const {
    for (const std::int32_t rank : from.ranks) {
      if (!is_in(to.ranks, rank)) to.ranks.push_back(rank);
    }
    std::ranges::sort(to.ranks);
    for (const std::string& host : from.hosts) {
      if (std::ranges::find(to.hosts, host) == to.hosts.end()) to.hosts.push_back(host);
    }
    detect::add_steps(from, to);
    to.core_wait_ns = 0.0;
    for (const RankCpu& rank : times_) {
      if (is_in(to.ranks, rank.world_rank)) to.core_wait_ns += wait_from_first_to_last(rank, to);
    }
  }

  const std::vector<RankCpu>& times_;
  std::span<const SharedCores> shared_;
  detect::Detection& detection_;
};

}  // namespace

void name_preempted(const std::vector<RankCpu>& times, std::span<const SharedCores> shared,
                    detect::Detection& detection) {
  Judge(times, shared, detection).run();
}

}  // namespace megascope::cpu
