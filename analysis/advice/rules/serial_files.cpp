#include "analysis/advice/group.h"
#include "analysis/advice/rules.h"
#include "analysis/advice/words.h"
#include "core/base/text.h"

#include <algorithm>

namespace megascope::advice {
namespace {

constexpr double kMaxOfAll = 0.8;          ///< one rank's fraction of all time in file access
constexpr double kMaxOfWaits = 0.5;        ///< fraction of all waits that are for one rank
constexpr double kMinBlocked = 0.05;       ///< blocked fraction of the rank's time
constexpr double kMaxOthersBlocked = 0.5;  ///< median blocked time of the others, over the rank's

struct Transfers {
  std::uint64_t count = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t bytes = 0;
  const Row* first = nullptr;
};

Transfers transfers_of(const RankFacts& rank) {
  Transfers sum;
  for (const Row& row : rank.rows) {
    if (row.pattern != Pattern::kFileTransfer) continue;
    sum.count += row.count;
    sum.time_ns += row.time_ns;
    sum.bytes += row.bytes;
    if (sum.first == nullptr || row.time_ns > sum.first->time_ns) sum.first = &row;
  }
  return sum;
}

const RankFacts* most_waited_for(const Facts& facts) {
  const auto most = std::ranges::max_element(
      facts.ranks, {}, [](const RankFacts& rank) { return rank.waited_for_at_all.wait_ns; });
  std::uint64_t all_ns = 0;
  for (const RankFacts& rank : facts.ranks) all_ns += rank.waited_for_at_all.wait_ns;
  const bool is_most = all_ns != 0 && static_cast<double>(most->waited_for_at_all.wait_ns) >=
                                          kMaxOfWaits * static_cast<double>(all_ns);
  return is_most ? &*most : nullptr;
}

bool are_others_waiting(const Facts& facts, const RankFacts& rank) {
  return 2 * std::size_t{rank.waited_for_at_all.waiter_count} >= facts.ranks.size() - 1;
}

/// let: "Let", or "let" within a sentence.
std::string remedy(const std::string& let) {
  return let +
         " all ranks read or write their own data: collectively (MPI_File_write_at_all, parallel "
         "HDF5 or netCDF), or in one file for each rank or node. Alternatively, access files "
         "while the other ranks continue: by nonblocking calls (MPI_File_iwrite_at) or on a "
         "dedicated writer rank.";
}

/// Finds the rank by its independent MPI file accesses.
bool find_transfers(const Facts& facts, const RankFacts& rank, Findings& found) {
  const Transfers own = transfers_of(rank);
  std::uint64_t all_ns = 0;
  for (const RankFacts& other : facts.ranks) all_ns += transfers_of(other).time_ns;
  if (own.count == 0 || static_cast<double>(own.time_ns) < kMaxOfAll * static_cast<double>(all_ns))
    return false;
  const auto others = static_cast<double>(facts.ranks.size() - 1);
  const double share = share_of(facts, std::min(static_cast<double>(rank.waited_for_at_all.wait_ns),
                                                others * static_cast<double>(own.time_ns)));
  if (share < kMinShare) return false;
  found.push_back(
      {.rule = "serial_files",
       .text = "Rank " + std::to_string(rank.world_rank) + " spends " +
               percent(static_cast<double>(own.time_ns) / static_cast<double>(all_ns)) +
               " of the time of all ranks in independent file accesses: " + human_count(own.count) +
               " times, " + human_bytes(own.bytes) + " in " +
               duration(static_cast<double>(own.time_ns)) + " " +
               call_site_text(facts, own.first->function, own.first->comm, own.first->site) +
               ", while the others wait for it: " + percent(share) + " of the run.",
       .remedy = remedy("Let"),
       .ranks = {rank.world_rank},
       .count = own.count,
       .share = share,
       .function = own.first->function,
       .comm = own.first->comm,
       .site = own.first->site,
       .region = {}});
  return true;
}

/// Finds the rank by the time that it was blocked outside of MPI, as the kernel reports it. MPI
/// calls poll, so they do not block.
void find_blocked(const Facts& facts, const RankFacts& rank, Findings& found) {
  if (rank.blocked_ns < kMinBlocked * static_cast<double>(rank.wall_ns)) return;
  std::vector<double> blocked_ns;
  for (const RankFacts& other : facts.ranks) {
    if (&other != &rank && other.blocked_ns >= 0.0) blocked_ns.push_back(other.blocked_ns);
  }
  if (blocked_ns.empty()) return;
  std::ranges::sort(blocked_ns);
  const double excess_ns = rank.blocked_ns - blocked_ns[blocked_ns.size() / 2];
  if (blocked_ns[blocked_ns.size() / 2] > kMaxOthersBlocked * rank.blocked_ns) return;
  const auto others = static_cast<double>(facts.ranks.size() - 1);
  const double share = share_of(
      facts, std::min(static_cast<double>(rank.waited_for_at_all.wait_ns), others * excess_ns));
  if (share < kMinShare) return;
  found.push_back({.rule = "serial_files",
                   .text = "Rank " + std::to_string(rank.world_rank) +
                           " is blocked in the operating system " + duration(excess_ns) +
                           " longer than the others (it neither computes nor waits for a core: it "
                           "is in a file access or another blocking system call), and they wait "
                           "for it: " +
                           percent(share) + " of the run.",
                   .remedy = "If the cause is file access, " + remedy("let"),
                   .ranks = {rank.world_rank},
                   .count = rank.waited_for_at_all.count,
                   .share = share,
                   .function = kNoIndex,
                   .comm = kNoIndex,
                   .site = kNoIndex,
                   .region = {}});
}

}  // namespace

/// Finds a rank that reads or writes files while the others wait.
void find_serial_files(const Facts& facts, Findings& found) {
  if (facts.ranks.size() < 2) return;
  const RankFacts* rank = most_waited_for(facts);
  if (rank == nullptr || !are_others_waiting(facts, *rank)) return;
  if (!find_transfers(facts, *rank, found)) find_blocked(facts, *rank, found);
}

}  // namespace megascope::advice
