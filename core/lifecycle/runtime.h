#pragma once

#include "core/buffer/recorder.h"
#include "core/lifecycle/collective.h"
#include "core/lifecycle/control_plan.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope {

/// What a producer knows when MPI is started.
struct StartFacts {
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;
  int thread_level = 0;  ///< provided thread level: 0 single ... 3 multiple
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
  bool is_first_here = false;     ///< this is the lowest rank that is known to have the library: it
                                  ///< reports for all ranks
};

/// What producers need to know of the options of this process.
struct RunSettings {
  bool uses_tsc = true;               ///< the clock is the TSC; else CLOCK_MONOTONIC
  std::string clock_domain;           ///< ProcessInfo::clock_domain of that clock
  double sync_interval_s = 0.0;       ///< interval at which different clocks are compared; 0: at
                                      ///< start and end only
  bool is_presence_asserted = false;  ///< all ranks have the library, says MEGASCOPE_ALL_RANKS
  bool wants_call_sites = false;      ///< call sites are recorded
  ControlPlan control;                ///< whether and how ranks communicate at step boundaries
  std::string run_id;                 ///< of this process, used if it is rank 0
};

/// Whether all ranks have loaded the library, so that they may communicate.
struct PeerPresence {
  bool is_complete = false;
  std::vector<std::int32_t>
      missing;  ///< ranks known to lack the library; may be empty although is_complete is false
  std::string reason;  ///< why is_complete is false, for the user
};

/// What the library does when MPI starts, recording ends or MPI_Abort is called; implemented by
/// plugin/run. Producers call it. It calls MPI only through the Collective that it is given.
/// Nothing throws or ends the process, except prepare() if MEGASCOPE_STRICT is on and an option is
/// invalid.
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
  /// Ends the run: recording has ended, MPI has not. collective: all ranks; nullptr: this process
  /// is standalone.
  virtual void end(Collective* collective, const PeerPresence& presence) = 0;
  /// Starts a recording if the application has no MPI that will. Called by the first hook while
  /// nothing is recorded. Any thread; never in a forked child of a recording process.
  virtual void hook_called() = 0;
  /// Called when the application calls MPI_Abort.
  virtual void aborting() = 0;
  /// Prints one line for the user, once, if this process is the one that reports.
  virtual void complain(const std::string& message) = 0;
};

/// Returns the process's runtime; defined by plugin/run.
Runtime& runtime();

}  // namespace megascope
