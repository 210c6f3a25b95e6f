#include "analysis/cpu/accounts.h"

#include <algorithm>
#include <iterator>

namespace megascope::cpu {
namespace {

constexpr double
    kOfTheBlocked = 0.35;  ///< share of the excess blocked time. A rank that is stopped at
                           ///< arbitrary times is inside of MPI for part of them
constexpr double
    kMinInsideNs = 1e6;  ///< minimum time of readings inside of calls for a usable share

const RankCpus* cpus_of(std::span<const RankCpus> cpus, std::int32_t world_rank) {
  const auto found = std::ranges::find(cpus, world_rank, &RankCpus::world_rank);
  return found == cpus.end() ? nullptr : &*found;
}

/// May the two ranks use the same core? True if their cores are unknown.
bool are_fellows(const RankCpus& a, const RankCpus& b) {
  if (a.host != b.host) return false;
  if (!a.cpus.is_known() || !b.cpus.is_known()) return true;
  std::vector<std::uint32_t> common;
  std::ranges::set_intersection(a.cpus.cores, b.cpus.cores, std::back_inserter(common));
  return !common.empty();
}

double blocked_ns(const CpuSums& sums) {
  return std::max(0.0, sums.wall_ns - sums.cpu_ns - sums.wait_ns);
}

/// The share of their time in MPI for which the other ranks are blocked; < 0: unknown.
double blocked_share_in_mpi(const std::vector<Account>& accounts, const Account& but) {
  CpuSums inside;
  for (const Account& account : accounts) {
    if (account.world_rank != but.world_rank) inside.add(account.times->measured.inside);
  }
  return inside.wall_ns >= kMinInsideNs ? blocked_ns(inside) / inside.wall_ns : -1.0;
}

double usual_outside_ns(const std::vector<Account>& accounts, const Account& but) {
  std::vector<double> others;
  for (const Account& account : accounts) {
    if (account.world_rank != but.world_rank) others.push_back(account.outside_ns);
  }
  if (others.empty()) return 0.0;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::ranges::nth_element(others, middle);
  return *middle;
}

void divide_blocked(const std::vector<Account>& accounts, Account& account) {
  const RankCpu& times = *account.times;
  const double share = blocked_share_in_mpi(accounts, account);
  if (share < 0) {
    account.blocked_ns = blocked_ns(times.whole.outside);
    return;
  }
  const double own_ns = std::max(0.0, blocked_ns(times.all()) - share * times.whole.inside.wall_ns);
  const double longer_ns = account.outside_ns - usual_outside_ns(accounts, account);
  const bool is_outside = longer_ns >= kOfTheBlocked * own_ns ||
                          blocked_ns(times.whole.outside) >= 0.5 * own_ns;
  (is_outside ? account.blocked_ns : account.blocked_in_mpi_ns) = std::min(
      own_ns, is_outside ? account.outside_ns : times.whole.inside.wall_ns);
}

void add_foreign(std::span<const RankCpus> cpus, std::vector<Account>& accounts) {
  for (Account& account : accounts) {
    const RankCpus* const own = cpus_of(cpus, account.world_rank);
    if (own == nullptr) continue;
    double fellows_cpu_ns = 0.0;
    for (const Account& other : accounts) {
      const RankCpus* const others = cpus_of(cpus, other.world_rank);
      if (&other == &account || others == nullptr || !are_fellows(*own, *others)) continue;
      fellows_cpu_ns += other.times->all().cpu_ns;
    }
    if (own->cpus.granted_milli == 0)
      account.foreign_ns = std::max(0.0, account.core_wait_ns - fellows_cpu_ns);
  }
}

}  // namespace

std::vector<Account> accounts_of(const std::vector<RankCpu>& times,
                                 std::span<const RankCpus> cpus) {
  std::vector<Account> accounts;
  for (const RankCpu& rank : times) {
    const CpuSums all = rank.all();
    if (!rank.has_readings() || !rank.has_wait || all.wall_ns <= 0) continue;
    const RankCpus* const known = cpus_of(cpus, rank.world_rank);
    accounts.push_back({.world_rank = rank.world_rank,
                        .times = &rank,
                        .host = known == nullptr ? std::string() : known->host,
                        .wall_ns = all.wall_ns,
                        .outside_ns = rank.whole.outside.wall_ns,
                        .core_wait_ns = all.wait_ns});
  }
  std::ranges::sort(accounts, {}, &Account::world_rank);
  for (Account& account : accounts) divide_blocked(accounts, account);
  add_foreign(cpus, accounts);
  return accounts;
}

}  // namespace megascope::cpu
