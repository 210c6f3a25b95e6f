#pragma once

#include "core/buffer/recorder.h"
#include "core/lifecycle/collective.h"
#include "core/lifecycle/control_plan.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope {

/// Facts about the process that the caller of Runtime::begin() knows when MPI has started.
struct StartFacts {
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;
  int thread_level = 0;  ///< provided thread level, from 0 (MPI_THREAD_SINGLE) to 3
                         ///< (MPI_THREAD_MULTIPLE)
  std::string mpi_library;
  std::string world;  ///< ProcessInfo::world, parent_world
  std::string parent_world;
  std::uint64_t start_ticks = 0;  ///< entry of the call that started MPI
  std::string clock_domain;       ///< ProcessInfo::clock_domain, clock_samples
  std::vector<ClockSample> clock_samples;
  std::uint64_t presence_ns = 0;  ///< time spent to find out whether all ranks have the library
  std::uint64_t clocks_ns = 0;    ///< time spent to compare clocks
  std::string shared_run_id;      ///< rank 0's run id, if it could be obtained; else empty
  bool is_without_mpi = false;    ///< a hook started the recording; rank and size come from the
                                  ///< launcher
  bool is_first_here = false;  ///< this rank is the lowest one that is known to have the library;
                               ///< it prints the messages for the user
};

/// Settings of this process that the MPI layer needs, derived from the options.
struct RunSettings {
  bool uses_tsc = true;               ///< true: the clock is the TSC; false: CLOCK_MONOTONIC
  std::string clock_domain;           ///< ProcessInfo::clock_domain of that clock
  double sync_interval_s = 0.0;       ///< interval at which different clocks are compared; 0: at
                                      ///< start and end only
  bool is_presence_asserted = false;  ///< MEGASCOPE_ALL_RANKS asserts that all ranks have loaded
                                      ///< the library
  bool wants_call_sites = false;      ///< call sites are recorded
  ControlPlan control;                ///< whether and how ranks communicate at step boundaries
  std::string run_id;  ///< run id that this process generated; used if the process is rank 0
};

/// Whether all ranks have loaded the library, so that they may communicate.
struct PeerPresence {
  bool is_complete = false;
  std::vector<std::int32_t>
      missing;  ///< ranks known to lack the library; may be empty although is_complete is false
  std::string reason;  ///< why is_complete is false, for the user
};

/// Interface of plugin/run, which acts when MPI starts, when recording ends and when MPI_Abort is
/// called. The MPI layer and the hooks call it. It calls MPI only through the Collective that it is
/// given. Nothing throws or ends the process, except prepare() if MEGASCOPE_STRICT is on and an
/// option is invalid.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Parses the words of an option. Returns a sentence for each word that is not valid.
  using ItemReader = std::vector<std::string> (*)(const std::vector<std::string>& items);
  /// Reads the options, once. Call before MPI is started. select_functions: parser of
  /// MEGASCOPE_MPI. Returns false if nothing is to be recorded.
  virtual bool prepare(ItemReader select_functions) = 0;
  /// Returns the settings of this process. Valid after prepare(), constant from then on.
  virtual const RunSettings& settings() const = 0;

  /// Creates the trace. Call after MPI was started. Returns nullptr if nothing is recorded.
  virtual Recorder* begin(const StartFacts& facts,
                          const std::vector<RegionDefinition>& regions) = 0;
  /// Ends the run. Call after recording has ended and before MPI is finalized. collective: group of
  /// all ranks; nullptr if this process is standalone.
  virtual void end(Collective* collective, const PeerPresence& presence) = 0;
  /// Starts a recording if no MPI call will start it: the program has no MPI, or the library was
  /// loaded too late to intercept MPI calls. Called by the first hook while nothing is recorded.
  /// Any thread; never in a forked child of a recording process.
  virtual void hook_called() = 0;
  /// Called when the application calls MPI_Abort.
  virtual void aborting() = 0;
  /// Prints one line for the user if this process prints the messages of the run; does nothing on
  /// other processes.
  virtual void complain(const std::string& message) = 0;
};

/// Returns the process's runtime; defined by plugin/run.
Runtime& runtime();

}  // namespace megascope
