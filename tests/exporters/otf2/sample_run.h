#pragma once

#include "core/record/memory_source.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace megascope::test {

/// Facts, one function a kind. Communicators are CommIds of the process: 0 is the world, 1 is self.
inline constexpr CommId kWorld = 0;
inline constexpr CommId kSelf = 1;

Fact send(std::int32_t peer, std::int32_t tag, std::uint64_t bytes, CommId comm = kWorld);
Fact recv(std::int32_t peer, std::int32_t tag, std::uint64_t bytes, CommId comm = kWorld);
Fact isend(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
           CommId comm = kWorld);
Fact irecv(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
           CommId comm = kWorld);
Fact sent(RequestId request);
Fact received(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
              CommId comm = kWorld);
Fact of_request(FactKind kind, RequestId request);
Fact collective(std::uint32_t sequence, std::int32_t root, std::uint64_t bytes_sent,
                std::uint64_t bytes_received, CommId comm = kWorld);
/// The same fact as the start or the completion of a nonblocking collective.
Fact with_request(FactKind kind, RequestId request, Fact fact);
Fact created(CommId comm);
Fact freed(CommId comm);

/// One-sided facts on the window with this WinId, of the world.
Fact one_sided(FactKind kind, WinId window, std::int32_t peer = kNoPeer, std::uint64_t bytes = 0,
               RequestId request = 0, std::uint32_t sequence = 0);

/// One process of a run made by hand. Regions are defined when first called; every process has
/// MPI_COMM_WORLD, and MPI_COMM_SELF, and a main thread.
class SampleProcess {
 public:
  SampleProcess(std::int32_t world_rank, std::int32_t world_size);

  /// A thread; returns its LocationId.
  LocationId add_thread(const std::string& name);
  /// A communicator; returns its CommId.
  CommId add_comm(std::uint64_t global_name, const std::string& name, CommId parent,
                  const std::vector<std::int32_t>& members,
                  const std::vector<std::int32_t>& remote_members = {});
  /// A window on the world; returns its WinId.
  WinId add_window(std::uint64_t global_name, const std::string& name,
                   WindowFlavor flavor = WindowFlavor::kCreate);
  /// A group; returns its GroupId.
  GroupId add_group(const std::vector<std::int32_t>& members);
  /// The next call in order of entry on a location. depth, is_pending: as in Call.
  void call(const std::string& function, std::uint64_t enter_ns, std::uint64_t leave_ns,
            std::initializer_list<Fact> facts = {}, LocationId location = 0, std::uint8_t depth = 0,
            bool is_pending = false);

  MemorySource::Process& process() { return process_; }
  ProcessDefinitions& definitions() { return process_.definitions; }

 private:
  RegionId region(const std::string& function);

  MemorySource::Process process_;
  std::map<std::string, RegionId> regions_;
};

/// Some processes as one source; each must have another rank.
MemorySource make_source(std::int32_t world_size, const std::vector<SampleProcess>& processes);

/// What a region of this name is on the real table.
RegionDefinition region_definition(const std::string& function);

}  // namespace megascope::test
