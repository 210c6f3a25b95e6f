#pragma once

#include "core/lifecycle/collective.h"
#include "core/record/definitions.h"
#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/own_communication/ping_pong.h"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// Measures the offsets between the clocks of the world's processes, by messages on the library's
/// own communicator. docs/time.md.
namespace megascope::mpi {

/// The clock comparison of one process. All ranks must make the same calls in the same order. If a
/// rank does not call after_collective(), the others wait for it for one second, once. Called on
/// the application's thread.
class ClockSync {
 public:
  /// world: all ranks, made by make_world_collective(); must outlive the object. interval_s: time
  /// between measurements at collectives of the application; 0: no measurements at collectives.
  /// settings: a number that is equal on ranks whose options make them count collectives in the
  /// same way.
  ClockSync(Collective& world, bool use_tsc, double interval_s, std::uint64_t settings);

  /// Determines which processes share a clock: those that claim the same domain and show the same
  /// time. Returns the domain of this process. This is `claimed`, with a rank appended if the
  /// process shows another time than other processes that claim it. O(log P) rounds.
  std::string find_domains(const std::string& claimed);
  /// Compares the clocks of all domains, along a binomial tree over domains in O(log domains)
  /// rounds: the lowest rank of a domain sends requests to the lowest rank of the domain above it,
  /// which answers with its time. sample: receives the comparison. Returns false if this process
  /// sent no requests or got no answer. Collective: call in MPI_Init and MPI_Finalize.
  bool measure(ClockSample& sample);
  /// Returns whether all ranks passed the same `settings` and `interval_s` to the constructor.
  /// Valid after find_domains().
  bool has_same_settings() const noexcept { return has_same_settings_; }
  bool has_several_domains() const noexcept { return leaders_.size() > 1; }

  /// Returns the number of the collective on MPI_COMM_WORLD from which on after_collective() must
  /// be called; kNeverSynced: never.
  std::uint32_t next_collective() const noexcept { return next_collective_; }
  /// Called after this rank has left the collective with this number, which all ranks have entered.
  /// If the interval has passed, compares the clocks like measure(), with the same result.
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
  Wire wire(std::uint32_t round, std::uint64_t timeout_ns) const;
  bool measure_by(const Wire& wire, ClockSample& sample, bool& has_asked);
  std::uint64_t plan_after(std::uint32_t sequence);
  bool share_plan(const Wire& wire, std::uint64_t& plan);

  Collective& world_;
  MPI_Comm comm_;
  bool use_tsc_;
  std::uint64_t interval_ns_;
  std::uint64_t settings_;
  bool has_same_settings_ = false;
  std::vector<Leader>
      leaders_;  ///< lowest rank of each domain, in ascending order; empty if there is one domain
  std::uint32_t next_collective_;
  // On rank 0:
  std::uint64_t last_measured_ns_ = 0;
  std::uint64_t last_planned_ns_ = 0;
  std::uint32_t last_sequence_ = 0;
};

/// The ClockSync of this process. nullptr if the process is standalone, and before MPI was started.
extern ClockSync* g_clock_sync;

/// Called after a collective that synchronises all ranks, succeeded, and is due
/// (CommState::sync_at).
[[gnu::cold]] void sync_after_collective(MpiThread& thread, const CallRecord& call) noexcept;

}  // namespace megascope::mpi
