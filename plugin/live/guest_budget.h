#pragma once

#include "core/lifecycle/live_server.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::live {

class GuestTurn;

/// What serving unauthenticated clients may cost the job, for all of them together: bytes on their
/// sockets in both directions, and CPU time of the server's thread. Two buckets: each fills at its
/// rate and holds kBurstSeconds of it. Spending may overdraw a bucket by one message; the budget is
/// closed until the debt is paid. Times are handed in, ns since the epoch. One thread.
class GuestBudget {
 public:
  static constexpr double kBurstSeconds = 0.5;

  /// cpu_percent: of one core.
  GuestBudget(double bytes_per_second, double cpu_percent);

  /// Both buckets hold something: one more message may be made, read or answered.
  bool is_open(std::int64_t now_ns);
  void spend(std::uint64_t bytes, std::uint64_t cpu_ns);

  std::uint64_t spent_bytes() const { return spent_bytes_; }
  std::uint64_t spent_cpu_ns() const { return spent_cpu_ns_; }
  /// Updates that unauthenticated clients did not get because a newer one of the same tensor
  /// replaced them.
  std::uint64_t skipped_updates() const { return skipped_updates_; }
  void count_skipped() { ++skipped_updates_; }

 private:
  friend class GuestTurn;

  std::vector<GuestTurn*> waiting_;  ///< since the budget was closed, the first the longest
  double bytes_per_second_;
  double cpu_ns_per_second_;
  double bytes_;   ///< that may be spent now; below 0: a debt
  double cpu_ns_;  ///< the same
  std::int64_t since_ns_ = 0;
  std::uint64_t spent_bytes_ = 0;
  std::uint64_t spent_cpu_ns_ = 0;
  std::uint64_t skipped_updates_ = 0;
};

/// What the budget is, for users: "clients of this port get up to 4 MiB/s and 5 % of a core
/// together (…)".
std::string budget_text(const LiveSettings& settings);

/// The place of one who may have to wait for a budget, as several do: who has waited longest goes
/// first, or a client could starve beside others that happen to ask in better moments. Who does not
/// ask for a second loses its place. The budget outlives it.
class GuestTurn {
 public:
  /// nullptr: its turn is always.
  explicit GuestTurn(GuestBudget* budget) : budget_(budget) {}
  ~GuestTurn() { leave(); }
  GuestTurn(const GuestTurn&) = delete;
  GuestTurn& operator=(const GuestTurn&) = delete;

  /// The budget is open, and nobody has waited for longer. Else it waits from now on, and is to ask
  /// again.
  bool has_come(std::int64_t now_ns);

 private:
  void leave();

  GuestBudget* budget_;
  std::int64_t asked_ns_ = 0;
};

/// Charges the CPU time that the calling thread uses in a scope, and the bytes reported, to a
/// budget. nullptr: does nothing.
class GuestCharge {
 public:
  explicit GuestCharge(GuestBudget* budget);
  ~GuestCharge();
  GuestCharge(const GuestCharge&) = delete;
  GuestCharge& operator=(const GuestCharge&) = delete;
  void add_bytes(std::uint64_t bytes) { bytes_ += bytes; }

 private:
  GuestBudget* budget_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace megascope::live
