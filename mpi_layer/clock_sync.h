#pragma once

#include "core/lifecycle/collective.h"
#include "core/record/definitions.h"
#include "mpi_layer/call_record.h"
#include "mpi_layer/ping_pong.h"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// How the clocks of the world's processes lie to each other, measured by messages on our own
/// communicator: docs/time.md.
namespace megascope::mpi {

/// One process's part. All members make the same calls in the same order, but for
/// after_collective(), where one that does not come costs the others a second, once. The
/// application's thread.
class ClockSync {
 public:
  /// world: all ranks, made by make_world_collective(); outlives the object. interval_s: between
  /// measurements at collectives of the application; 0: none there. settings: a number that is the
  /// same in ranks that count collectives alike.
  ClockSync(Collective& world, bool use_tsc, double interval_s, std::uint64_t settings);

  /// Which processes share a clock: those that claim the same domain and show the same time.
  /// Returns the name of this process's domain: the claimed one, or with a rank behind it where it
  /// shows another time. O(log P) rounds.
  std::string find_domains(const std::string& claimed);
  /// The lowest rank of each domain asks that of another one, along a binomial tree: O(log domains)
  /// rounds. false: this process did not ask. In MPI_Init and MPI_Finalize.
  bool measure(ClockSample& sample);
  /// Is `settings` the same on all ranks? After find_domains().
  bool has_same_settings() const noexcept { return has_same_settings_; }
  bool has_several_domains() const noexcept { return leaders_.size() > 1; }

  /// The number of the collective on MPI_COMM_WORLD at which after_collective() is due;
  /// kNeverSynced: at none.
  std::uint32_t next_collective() const noexcept { return next_collective_; }
  /// All ranks have come to the collective of this number, and this one has left it. Measures if it
  /// is time to, as measure().
  bool after_collective(std::uint32_t sequence, ClockSample& sample);

 private:
  struct Leader {
    std::int32_t rank;
    std::uint64_t domain;
  };
  std::array<bool, 2> are_same_everywhere(std::uint64_t first, std::uint64_t second);
  bool is_same_everywhere(std::uint64_t value) { return are_same_everywhere(value, value)[0]; }
  bool check_domain(MPI_Comm members, std::int32_t& namer);
  Status find_leaders(std::uint64_t domain);
  Wire wire(std::uint32_t round, std::uint64_t patience_ns) const;
  bool measure_by(const Wire& wire, ClockSample& sample, bool& has_asked);
  std::uint64_t plan_after(std::uint32_t sequence);
  bool share_plan(const Wire& wire, std::uint64_t& plan);

  Collective& world_;
  MPI_Comm comm_;
  bool use_tsc_;
  std::uint64_t interval_ns_;
  std::uint64_t settings_;
  bool has_same_settings_ = false;
  std::vector<Leader> leaders_;  ///< of all domains, ascending rank; empty when there is one domain
  std::uint32_t next_collective_;
  // On rank 0:
  std::uint64_t last_measured_ns_ = 0;
  std::uint64_t last_planned_ns_ = 0;
  std::uint32_t last_sequence_ = 0;
};

/// Of this process, or nullptr: alone, or before MPI has been started.
extern ClockSync* g_clock_sync;

/// The call was a collective in which every rank waits for all others, it succeeded, and it is due
/// (CommState::sync_at).
[[gnu::cold]] void sync_after_collective(MpiThread& thread, const CallRecord& call) noexcept;

}  // namespace megascope::mpi
