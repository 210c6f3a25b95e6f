#include "analysis/cpu/sleepers.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace megascope::cpu {
namespace {

using detect::Cause;
using detect::RootCause;

constexpr double kAsleep = 0.5;     ///< share of the time outside of MPI
constexpr double kMaxFactor = 1.1;  ///< sleeping times of ranks vary by less (kOfUsual in
                                    ///< whole_run.cpp)
constexpr double kExplained = 0.5;  ///< share of a root cause's cost
constexpr double kMinSeen = 0.02;   ///< share of the run; smaller differences of CPU time are usual
                                    ///< (also in whole_run.cpp)

double blocked_share(const Account& account) {
  return account.outside_ns > 0 ? account.blocked_ns / account.outside_ns : 0.0;
}

double cpu_outside_ns(const Account& account) { return account.times->whole.outside.cpu_ns; }

template <class Value>
double median_of_others(const std::vector<Account>& accounts, const Account& account, Value value) {
  std::vector<double> others;
  for (const Account& other : accounts) {
    if (&other != &account) others.push_back(value(other));
  }
  return detect::median(others);
}

/// Does CPU time outside of MPI show that the rank works longer? Estimates of it show nothing.
bool computes_longer(const std::vector<Account>& accounts, const Account& account, double cost_ns,
                     double run_ns) {
  return account.times->is_measured() &&
         cpu_outside_ns(account) - median_of_others(accounts, account, cpu_outside_ns) >=
             std::max(kExplained * cost_ns, kMinSeen * run_ns);
}

bool only_sleeps(const std::vector<Account>& accounts, const RootCause& root_cause, double run_ns) {
  if (root_cause.ranks.size() != 1 || root_cause.factor >= kMaxFactor ||
      !analysis::is_of_compared_work(root_cause.cause))
    return false;
  const auto account = std::ranges::find(accounts, root_cause.ranks.front(), &Account::world_rank);
  if (account == accounts.end() || blocked_share(*account) < kAsleep ||
      median_of_others(accounts, *account, blocked_share) < kAsleep)
    return false;
  return !computes_longer(accounts, *account, root_cause.cost_fraction * run_ns, run_ns);
}

}  // namespace

void dismiss_sleepers(const std::vector<Account>& accounts, detect::Detection& detection) {
  if (accounts.size() < 2) return;
  double run_ns = 0.0;
  for (const Account& account : accounts) run_ns = std::max(run_ns, account.wall_ns);
  const std::size_t count = std::erase_if(detection.root_causes, [&](const RootCause& root_cause) {
    return only_sleeps(accounts, root_cause, run_ns);
  });
  if (count == 0) return;
  detection.limitations.push_back(
      (count == 1 ? std::string("One rank was") : std::to_string(count) + " ranks were") +
      " asleep between MPI calls for less than 1.1 times as long as others that sleep, too: not "
      "judged, because sleeping times vary that much.");
}

}  // namespace megascope::cpu
