#pragma once

#include "core/record/memory_source.h"
#include "tests/support/event_records.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace megascope::test {

/// Returns the definition of the region of this name, without an id. Names with the prefix MPI_ are
/// MPI functions, defined as in traces (mpi_layer/table); throws std::invalid_argument if the MPI
/// library of this build does not declare the function. All other names are regions that the
/// application annotates.
RegionDefinition region_definition(const std::string& function);

/// One process of a run made by hand. Regions are defined when first called. Every process has
/// MPI_COMM_WORLD (kWorld), MPI_COMM_SELF (kSelf) and a main thread (LocationId 0).
class SampleProcess {
 public:
  SampleProcess(std::int32_t world_rank, std::int32_t world_size);

  /// Adds a thread. Returns its LocationId.
  LocationId add_thread(const std::string& name);
  /// Adds a communicator, an intercommunicator if there are remote members. Members are world
  /// ranks. Returns its CommId.
  CommId add_comm(std::uint64_t global_name, const std::string& name, CommId parent,
                  const std::vector<std::int32_t>& members,
                  const std::vector<std::int32_t>& remote_members = {});
  /// Adds a window on the world. Returns its WinId.
  WinId add_window(std::uint64_t global_name, const std::string& name,
                   WindowFlavor flavor = WindowFlavor::kCreate);
  /// Adds a group. Returns its GroupId.
  GroupId add_group(const std::vector<std::int32_t>& members);

  /// Appends a call to a location; calls are given in order of entry. depth, is_pending: as in
  /// Call. Call::comm is the communicator of the first fact.
  void call(const std::string& function, std::uint64_t enter_ns, std::uint64_t leave_ns,
            std::vector<Fact> facts = {}, LocationId location = 0, std::uint8_t depth = 0,
            bool is_pending = false);
  /// Appends the call in which a thread is at the end of the trace. posted: its arguments, as in
  /// Call.
  void in(const std::string& function, std::uint64_t enter_ns, std::uint64_t end_ns,
          std::vector<Fact> posted = {}, LocationId location = 0);
  /// The call appended last, for the fields that call() has no parameter for.
  Call& last_call(LocationId location = 0) { return process_.locations[location].back().call; }

  MemorySource::Process& process() { return process_; }
  const MemorySource::Process& process() const { return process_; }
  ProcessDefinitions& definitions() { return process_.definitions; }

 private:
  RegionId region(const std::string& function);

  MemorySource::Process process_;
  std::map<std::string, RegionId> regions_;
};

/// A run of these processes, each of another rank; ranks may be missing.
MemorySource make_source(std::int32_t world_size, const std::vector<SampleProcess>& processes);

}  // namespace megascope::test
