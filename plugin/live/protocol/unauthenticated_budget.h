#pragma once

#include "core/lifecycle/live_server.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::live {

class UnauthenticatedTurn;

/// Budget for serving all unauthenticated clients together: bytes on their sockets in both
/// directions, and CPU time of the server's thread. Two token buckets; each fills at its rate and
/// holds at most kBurstSeconds of it. A message may overdraw a bucket. No further message is then
/// served until both buckets are above zero again. Times: ns since the epoch, passed by the caller.
/// One thread.
class UnauthenticatedBudget {
 public:
  static constexpr double kBurstSeconds = 0.5;

  /// cpu_percent: percent of one core.
  UnauthenticatedBudget(double bytes_per_second, double cpu_percent);

  /// Returns whether both buckets are above zero, so that another message may be processed.
  bool is_open(std::int64_t now_ns);
  void spend(std::uint64_t bytes, std::uint64_t cpu_ns);

  std::uint64_t spent_bytes() const { return spent_bytes_; }
  std::uint64_t spent_cpu_ns() const { return spent_cpu_ns_; }
  /// Returns how many updates for unauthenticated clients were not sent because a newer update of
  /// the same tensor replaced them.
  std::uint64_t skipped_updates() const { return skipped_updates_; }
  void count_skipped() { ++skipped_updates_; }

 private:
  friend class UnauthenticatedTurn;

  /// Clients that have waited since the budget was closed, the longest waiting first.
  std::vector<UnauthenticatedTurn*> waiting_;
  double bytes_per_second_;
  double cpu_ns_per_second_;
  double bytes_;   ///< available bytes; below 0: overdrawn
  double cpu_ns_;  ///< available CPU time; below 0: overdrawn
  std::int64_t since_ns_ = 0;
  std::uint64_t spent_bytes_ = 0;
  std::uint64_t spent_cpu_ns_ = 0;
  std::uint64_t skipped_updates_ = 0;
};

/// Description of the budget for users: "clients of this port get up to 4 MiB/s and 5 % of a core
/// together (…)".
std::string budget_text(const LiveSettings& settings);

/// One client's position in the queue for a budget. The longest waiting client is served first, so
/// that no client starves. A client that does not call has_come() for one second loses its
/// position. The budget must outlive this object.
class UnauthenticatedTurn {
 public:
  /// budget: nullptr if there is no budget; has_come() then always returns true.
  explicit UnauthenticatedTurn(UnauthenticatedBudget* budget) : budget_(budget) {}
  ~UnauthenticatedTurn() { leave(); }
  UnauthenticatedTurn(const UnauthenticatedTurn&) = delete;
  UnauthenticatedTurn& operator=(const UnauthenticatedTurn&) = delete;

  /// Returns whether the budget is open and no client has waited longer. Otherwise this object
  /// joins the queue, and the caller tries again later.
  bool has_come(std::int64_t now_ns);

 private:
  void leave();

  UnauthenticatedBudget* budget_;
  std::int64_t asked_ns_ = 0;
};

/// Charges the CPU time of the calling thread during the life of this object, and the bytes passed
/// to add_bytes(), to a budget. If the budget is nullptr, it has no effect.
class UnauthenticatedCharge {
 public:
  explicit UnauthenticatedCharge(UnauthenticatedBudget* budget);
  ~UnauthenticatedCharge();
  UnauthenticatedCharge(const UnauthenticatedCharge&) = delete;
  UnauthenticatedCharge& operator=(const UnauthenticatedCharge&) = delete;
  void add_bytes(std::uint64_t bytes) { bytes_ += bytes; }

 private:
  UnauthenticatedBudget* budget_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace megascope::live
