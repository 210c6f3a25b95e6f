#pragma once

#include "core/buffer/recorder.h"
#include "core/lifecycle/collective.h"
#include "core/lifecycle/control_port.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope {

/// What a producer learns when the program starts MPI.
struct StartFacts {
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;
  int thread_level = 0;  ///< as provided: 0 single … 3 multiple
  std::string mpi_library;
  std::string world;  ///< ProcessInfo::world, parent_world
  std::string parent_world;
  std::uint64_t start_ticks = 0;  ///< entry of the call that started MPI
  std::string clock_domain;       ///< ProcessInfo::clock_domain, clock_samples
  std::vector<ClockSample> clock_samples;
  std::uint64_t company_ns = 0;  ///< spent on finding out whether all ranks have the library
  std::uint64_t clocks_ns = 0;   ///< and on comparing their clocks
  std::string shared_run_id;     ///< rank 0's, where it could be asked; empty: nobody told
  bool is_without_mpi = false;   ///< hooks started the recording; the launcher told rank and size
  bool is_first_here = false;  ///< the lowest rank that is known to have the library: it speaks for
                               ///< all
};

/// Do all ranks have the library, so that they may talk to each other?
struct Company {
  bool is_complete = false;
  std::vector<std::int32_t>
      missing;         ///< ranks known to be without; may be empty though not complete
  std::string reason;  ///< why not complete, for the user
};

/// What the front door (L4) does at the turning points of a process's life. Producers call it; it
/// never calls MPI except through the Collective it is given. None of these throws or ends the
/// program, except a refused option in `prepare`, which the user asked for.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Understands the words of an option and says, a sentence each, which ones it does not.
  using ItemReader = std::vector<std::string> (*)(const std::vector<std::string>& items);
  /// Before MPI is started. Reads the options once. select_functions: of MEGASCOPE_MPI. false:
  /// record nothing, do nothing.
  virtual bool prepare(ItemReader select_functions) = 0;
  virtual bool uses_tsc() const = 0;
  /// Which clock this process reads, by its own account: ProcessInfo::clock_domain. Valid after
  /// prepare().
  virtual std::string clock_domain() const = 0;
  /// How often clocks that differ are to be compared; 0: at start and end only.
  virtual double sync_interval_s() const = 0;
  /// The user vouches that all ranks have the library.
  virtual bool is_company_vouched() const = 0;
  /// The place of each call is to be recorded.
  virtual bool wants_call_sites() const = 0;
  /// Whether and how ranks talk at steps. Valid after prepare(); the port lives as long as the
  /// process.
  virtual ControlPlan control_plan() const = 0;
  /// A name for this run, in case this process is rank 0. Valid after prepare().
  virtual const std::string& own_run_id() const = 0;

  /// MPI has been started: makes the trace. nullptr: nothing will be recorded.
  virtual Recorder* begin(const StartFacts& facts,
                          const std::vector<RegionDefinition>& regions) = 0;
  /// Recording has ended, MPI has not. collective: all ranks, or nullptr: this process is on its
  /// own.
  virtual void end(Collective* collective, const Company& company) = 0;
  /// A hook was called while nothing is recorded, for the first time: begins a recording where the
  /// program has no MPI that will. Any thread; never in a forked child of a process that records.
  virtual void hook_called() = 0;
  /// The program calls MPI_Abort.
  virtual void aborting() = 0;
  /// One line for the user, said once, if this process is the one to say it.
  virtual void complain(const std::string& message) = 0;
};

/// The process's runtime; defined by the front door.
Runtime& runtime();

}  // namespace megascope
