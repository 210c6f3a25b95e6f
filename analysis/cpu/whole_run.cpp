#include "analysis/cpu/whole_run.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

namespace megascope::cpu {
namespace {

using detect::Cause;
using detect::RootCause;

constexpr double
    kMinBlocked = 0.02;  ///< share of the run that a rank is blocked longer than the others
constexpr double kMinForeign = 0.05;  ///< share of the run
constexpr double kMinComputed = 0.1;  ///< share of the run; estimates of CPU time outside of MPI
                                      ///< are not more accurate if ranks share cores
constexpr double kScatters = 4.0;     ///< distance from the others' median, as a multiple of their
                                      ///< median absolute deviation
constexpr double
    kOfUsual = 0.1;  ///< share of the others' median: sleeping times vary between ranks
constexpr double kExplained = 0.5;      ///< share of a root cause's cost
constexpr double kWaitsForCores = 0.1;  ///< share of the ranks' time from which waiting for cores
                                        ///< makes their work vary
constexpr double kWaitsInMpi = 0.05;    ///< share of the time in MPI from which messages are late
                                        ///< because ranks have no core
constexpr double
    kMinSeen = 0.02;  ///< share of the run; smaller differences of work are normal there
constexpr double
    kAsSlow = 0.75;  ///< share of the largest value; smaller ones are taken for its consequences
constexpr double kSure = 0.9999;

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return values.size() % 2 == 1 ? *middle
                                : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

template <class Value>
std::vector<double> values_of_others(const std::vector<Account>& accounts, const Account& account,
                                     Value value) {
  std::vector<double> others;
  for (const Account& other : accounts) {
    if (&other != &account) others.push_back(value(other));
  }
  return others;
}

/// One rank's value minus the median of the others.
template <class Value>
double excess_of(const std::vector<Account>& accounts, const Account& account, Value value) {
  return value(account) - median(values_of_others(accounts, account, value));
}

template <class Value>
bool is_beyond_scatter(const std::vector<Account>& accounts, const Account& account, Value value) {
  std::vector<double> others = values_of_others(accounts, account, value);
  const double usual = median(others);
  for (double& other : others) other = std::fabs(other - usual);
  return value(account) - usual > std::max(kScatters * median(std::move(others)), kOfUsual * usual);
}

double blocked(const Account& account) { return account.blocked_ns; }
double blocked_in_mpi(const Account& account) { return account.blocked_in_mpi_ns; }
double outside(const Account& account) { return account.outside_ns; }
double cpu_outside(const Account& account) { return account.times->whole.outside.cpu_ns; }

bool is_in(const std::vector<std::int32_t>& ranks, std::int32_t rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}
bool is_one(const RootCause& root_cause, std::int32_t rank) {
  return root_cause.ranks.size() == 1 && root_cause.ranks.front() == rank;
}

class WholeRun {
 public:
  WholeRun(const std::vector<Account>& accounts, detect::Detection& detection)
      : accounts_(accounts), detection_(detection) {
    for (const Account& account : accounts) {
      run_ns_ = std::max(run_ns_, account.wall_ns);
      wait_ns_ += account.core_wait_ns;
      all_ns_ += account.wall_ns;
    }
  }

  void run() {
    dismiss_links();
    if (accounts_.size() < 2) return;
    correct_causes();
    name_blocked();
    name_blocked_in_mpi();
    name_foreign();
    keep_one_a_rank();
    if (wait_ns_ >= kWaitsForCores * all_ns_) dismiss_unseen();
    if (detection_.root_causes.empty()) name_computing();
    std::ranges::stable_sort(detection_.root_causes, std::greater<>(), &RootCause::cost_fraction);
  }

 private:
  const Account* account_of(std::int32_t world_rank) const {
    const auto found = std::ranges::find(accounts_, world_rank, &Account::world_rank);
    return found == accounts_.end() ? nullptr : &*found;
  }

  /// A root cause that covers the whole run.
  RootCause common(Cause cause, const Account& account, double excess_ns) const {
    RootCause root_cause;
    root_cause.cause = cause;
    root_cause.ranks = {account.world_rank};
    root_cause.hosts = {account.host};
    const double of_ns = account.outside_ns > excess_ns ? account.outside_ns : run_ns_;
    root_cause.factor = of_ns / std::max(of_ns - excess_ns, 1.0);
    root_cause.last_step = std::max(detection_.step_count - 1, 0);
    root_cause.active_steps = detection_.step_count;
    root_cause.steps.resize(static_cast<std::size_t>(detection_.step_count));
    std::iota(root_cause.steps.begin(), root_cause.steps.end(), std::int64_t{0});
    root_cause.cost_fraction = std::min(1.0, excess_ns / run_ns_);
    root_cause.confidence = kSure;
    return root_cause;
  }

  /// A rank that was blocked for a large part of its cost and did not compute longer than the
  /// others is kBlocked, even if others are blocked, too. A thread that was always on a processor
  /// or waiting for one did not pause; it computed.
  void correct_causes() {
    for (RootCause& root_cause : detection_.root_causes) {
      const Account* const account = root_cause.ranks.size() == 1
                                         ? account_of(root_cause.ranks.front())
                                         : nullptr;
      if (account == nullptr || analysis::is_of_messages(root_cause.cause) ||
          root_cause.cause == Cause::kPreempted)
        continue;
      const double reported = root_cause.cost_fraction * run_ns_;
      const bool is_blocked = account->blocked_ns >=
                              std::max(kExplained * reported, kMinBlocked * run_ns_);
      if (is_blocked &&
          excess_of(accounts_, *account, cpu_outside) < kExplained * reported_ns(root_cause)) {
        root_cause.cause = Cause::kBlocked;
        root_cause.blocked_ns = account->blocked_ns;
      } else if (!is_blocked && root_cause.cause == Cause::kHostStall) {
        root_cause.cause = Cause::kSlowCompute;
        root_cause.evidence.what = "work between MPI calls";
      }
    }
  }

  /// Ranks that wait for a lock which a sleeping rank holds are blocked, too, but for a shorter
  /// time: only the longest are kept.
  void name_blocked() {
    for (const Account& account : accounts_) {
      const double excess_ns = excess_of(accounts_, account, blocked);
      if (excess_ns < kMinBlocked * run_ns_ || !is_beyond_scatter(accounts_, account, blocked))
        continue;
      take_blocked(account, excess_ns);
    }
    double max_ns = 0.0;
    for (const RootCause& root_cause : detection_.root_causes)
      max_ns = std::max(max_ns, root_cause.blocked_ns);
    const std::size_t count = std::erase_if(
        detection_.root_causes, [max_ns](const RootCause& root_cause) {
          return root_cause.cause == Cause::kBlocked && root_cause.blocked_ns < kAsSlow * max_ns;
        });
    if (count == 0) return;
    detection_.limitations.push_back(
        (count == 1 ? std::string("Another rank was")
                    : std::to_string(count) + " more ranks were") +
        " blocked between MPI calls, for less: they may have waited for what the first one held.");
  }

  /// The root cause's cost, limited to the rank's excess time outside of MPI in the whole run.
  double reported_ns(const RootCause& root_cause) const {
    const double reported_ns = root_cause.cost_fraction * run_ns_;
    const Account* const account = root_cause.ranks.size() == 1
                                       ? account_of(root_cause.ranks.front())
                                       : nullptr;
    return account == nullptr
               ? reported_ns
               : std::min(reported_ns, std::max(0.0, excess_of(accounts_, *account, outside)));
  }

  /// Makes the rank's root cause kBlocked; keeps onset and size if its steps show them.
  void take_blocked(const Account& account, double excess_ns) {
    RootCause found = common(Cause::kBlocked, account, excess_ns);
    for (const RootCause& root_cause : detection_.root_causes) {
      if (!is_one(root_cause, account.world_rank) || analysis::is_of_messages(root_cause.cause))
        continue;
      if (excess_ns < kExplained * reported_ns(root_cause) &&
          excess_ns < excess_of(accounts_, account, cpu_outside))
        return;  // it is slow by itself
      if (found.evidence.observed_ns > 0) continue;
      found = root_cause;
      found.cause = Cause::kBlocked;
    }
    found.blocked_ns = excess_ns;
    std::erase_if(detection_.root_causes, [&](const RootCause& root_cause) {
      return !analysis::is_of_messages(root_cause.cause) &&
             is_in(root_cause.ranks, account.world_rank) &&
             (root_cause.ranks.size() == 1 || root_cause.cause == Cause::kPreempted ||
              excess_ns >= kExplained * root_cause.cost_fraction * run_ns_);
    });
    add(std::move(found));
  }

  /// An MPI library that polls is never blocked. Blocked time inside of MPI therefore means that
  /// the process was stopped or that the transport waited.
  void name_blocked_in_mpi() {
    for (const Account& account : accounts_) {
      const bool is_named = std::ranges::any_of(
          detection_.root_causes, [&](const RootCause& root_cause) {
            return is_in(root_cause.ranks, account.world_rank) &&
                   (analysis::is_of_messages(root_cause.cause) ||
                    root_cause.cause == Cause::kBlocked);
          });
      if (is_named || !is_blocked_in_mpi(account.world_rank) ||
          !is_beyond_scatter(accounts_, account, blocked_in_mpi))
        continue;
      RootCause found = common(Cause::kBlocked, account, account.blocked_in_mpi_ns);
      found.factor = run_ns_ / std::max(run_ns_ - account.blocked_in_mpi_ns,
                                        1.0);  // factor of the rank's whole time, not of its work
      found.is_in_mpi = true;
      found.blocked_ns = account.blocked_in_mpi_ns;
      std::erase_if(detection_.root_causes, [&](const RootCause& root_cause) {
        return is_one(root_cause, account.world_rank);
      });
      add(std::move(found));
    }
  }

  /// Keeps one root cause kBlocked or kPreempted for each rank: kBlocked before kPreempted, then
  /// the most expensive one.
  void keep_one_a_rank() {
    std::ranges::stable_sort(detection_.root_causes, [](const RootCause& a, const RootCause& b) {
      return order_of(a) < order_of(b);
    });
    std::vector<RootCause> kept;
    for (RootCause& root_cause : detection_.root_causes) {
      const bool is_by_accounts = analysis::is_of_cpu_times(root_cause.cause);
      const bool is_reported = std::ranges::any_of(kept, [&](const RootCause& other) {
        return analysis::is_of_cpu_times(other.cause) && is_by_accounts &&
               std::ranges::any_of(root_cause.ranks,
                                   [&](std::int32_t rank) { return is_in(other.ranks, rank); });
      });
      if (!is_reported) kept.push_back(std::move(root_cause));
    }
    detection_.root_causes = std::move(kept);
  }

  static std::pair<bool, double> order_of(const RootCause& root_cause) {
    return {root_cause.cause == Cause::kPreempted, -root_cause.cost_fraction};
  }

  void name_foreign() {
    std::vector<const Account*> hit;
    for (const Account& account : accounts_) {
      if (account.foreign_ns >= kMinForeign * account.wall_ns) hit.push_back(&account);
    }
    if (hit.empty()) return;
    RootCause found = foreign_root_cause(hit);
    std::erase_if(detection_.root_causes, [&](const RootCause& root_cause) {
      const bool is_theirs = std::ranges::all_of(root_cause.ranks, [&](std::int32_t rank) {
        return std::ranges::any_of(
            hit, [rank](const Account* account) { return account->world_rank == rank; });
      });
      return root_cause.cause == Cause::kPreempted ||
             (is_theirs && root_cause.cause != Cause::kBlocked);
    });
    add(std::move(found));
  }

  RootCause foreign_root_cause(const std::vector<const Account*>& hit) const {
    const Account& worst = **std::ranges::max_element(hit, {}, &Account::foreign_ns);
    // The part of the waits outside of MPI that other ranks on the same cores do not explain.
    const double wait_ns = worst.times->whole.outside.wait_ns;
    const double share = worst.core_wait_ns > 0 ? worst.foreign_ns / worst.core_wait_ns : 0.0;
    RootCause root_cause = common(Cause::kPreempted, worst, wait_ns * share);
    for (const RootCause& other : detection_.root_causes) {  // onset and size, if steps show them
      const bool is_theirs = std::ranges::any_of(
          hit, [&](const Account* account) { return is_in(other.ranks, account->world_rank); });
      const bool is_as_large = other.cost_fraction >= kExplained * root_cause.cost_fraction;
      if (other.cause == Cause::kPreempted && is_theirs && is_as_large &&
          root_cause.evidence.observed_ns == 0)
        root_cause = other;
    }
    root_cause.ranks.clear();
    root_cause.hosts.clear();
    root_cause.core_wait_ns = 0.0;
    for (const Account* account : hit) {
      root_cause.ranks.push_back(account->world_rank);
      if (std::ranges::find(root_cause.hosts, account->host) == root_cause.hosts.end())
        root_cause.hosts.push_back(account->host);
      root_cause.core_wait_ns += account->core_wait_ns;
    }
    root_cause.core_wait_reason = "something else ran there for " +
                                  human_duration(static_cast<std::int64_t>(worst.foreign_ns));
    return root_cause;
  }

  void dismiss_unseen() {
    const std::size_t before = detection_.root_causes.size();
    std::erase_if(detection_.root_causes, [&](const RootCause& root_cause) {
      if (root_cause.ranks.size() != 1 ||
          (root_cause.cause != Cause::kSlowCompute && root_cause.cause != Cause::kInputImbalance))
        return false;
      const Account* const account = account_of(root_cause.ranks.front());
      return account != nullptr &&
             reported_ns(root_cause) <
                 std::max(kExplained * root_cause.cost_fraction, kMinSeen) * run_ns_;
    });
    const std::size_t count = before - detection_.root_causes.size();
    if (count == 0) return;
    detection_.limitations.push_back(
        (count == 1 ? std::string("One rank looked") : std::to_string(count) + " ranks looked") +
        " slow in single steps, but not in the whole run; ranks wait for cores, so their work "
        "varies.");
  }

  bool waits_in_mpi(std::int32_t world_rank) const {
    const Account* const account = account_of(world_rank);
    return account != nullptr && account->times->whole.inside.wait_ns >
                                     kWaitsInMpi * account->times->whole.inside.wall_ns;
  }

  /// Is the rank blocked inside of MPI, that is, not waiting for a core?
  bool is_blocked_in_mpi(std::int32_t world_rank) const {
    const Account* const account = account_of(world_rank);
    return account != nullptr && account->blocked_in_mpi_ns >= kMinBlocked * run_ns_;
  }

  /// A rank that is blocked in MPI by one link is late on its others.
  bool is_worst_link_of_blocked(const RootCause& root_cause) const {
    return std::ranges::any_of(root_cause.ranks, [&](std::int32_t rank) {
      return is_blocked_in_mpi(rank) &&
             root_cause.active_steps >= kExplained * detection_.step_count &&
             std::ranges::none_of(detection_.root_causes, [&](const RootCause& other) {
               return analysis::is_of_messages(other.cause) && is_in(other.ranks, rank) &&
                      root_cause.cost_fraction < kAsSlow * other.cost_fraction;
             });
    });
  }

  void dismiss_links() {
    std::vector<RootCause> kept;
    const std::size_t before = detection_.root_causes.size();
    for (const RootCause& root_cause : detection_.root_causes) {
      const bool is_late = analysis::is_of_messages(root_cause.cause) &&
                           std::ranges::any_of(root_cause.ranks, [this](std::int32_t rank) {
                             return waits_in_mpi(rank);
                           });
      if (!is_late || is_worst_link_of_blocked(root_cause)) kept.push_back(root_cause);
    }
    detection_.root_causes = std::move(kept);
    const std::size_t dismissed = before - detection_.root_causes.size();
    if (dismissed == 0) return;
    detection_.limitations.push_back(
        (dismissed == 1 ? std::string("One link is") : std::to_string(dismissed) + " links are") +
        " not judged: messages took longer, between ranks that waited for a core in MPI.");
  }

  void name_computing() {
    for (const Account& account : accounts_) {
      const double excess_ns = excess_of(accounts_, account, outside);
      if (excess_ns < kMinComputed * run_ns_ ||
          excess_of(accounts_, account, cpu_outside) < kExplained * excess_ns)
        continue;
      const std::vector<double> others = values_of_others(accounts_, account, outside);
      if (account.outside_ns - *std::ranges::max_element(others) < kExplained * excess_ns) continue;
      add(common(Cause::kSlowCompute, account, excess_ns));
    }
  }

  void add(RootCause root_cause) {
    std::ranges::sort(root_cause.ranks);
    if (root_cause.evidence.observed_ns == 0)
      root_cause.evidence.peer_count = static_cast<std::int32_t>(accounts_.size()) - 1;
    detection_.root_causes.push_back(std::move(root_cause));
  }

  const std::vector<Account>& accounts_;
  detect::Detection& detection_;
  double run_ns_ = 0.0;
  double wait_ns_ = 0.0;  ///< time waiting for a core, sum over ranks
  double all_ns_ = 0.0;
};

}  // namespace

void judge_whole_run(const std::vector<Account>& accounts, detect::Detection& detection) {
  WholeRun(accounts, detection).run();
}

}  // namespace megascope::cpu
