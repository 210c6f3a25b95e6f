#include "tests/support/sample_process.h"

#include "mpi_layer/table/regions.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace megascope::test {
namespace {

/// The regions of all MPI functions, by name, without ids.
const std::map<std::string, RegionDefinition>& mpi_regions() {
  static const std::map<std::string, RegionDefinition> kRegions = [] {
    std::map<std::string, RegionDefinition> regions;
    for (RegionDefinition& region : mpi::all_regions()) {
      region.id = RegionDefinition{}.id;
      regions.emplace(region.name, region);
    }
    return regions;
  }();
  return kRegions;
}

}  // namespace

RegionDefinition region_definition(const std::string& function) {
  if (!function.starts_with("MPI_")) {
    RegionDefinition region;
    region.name = function;
    region.role = RegionRole::kCode;
    region.paradigm = Paradigm::kUser;
    return region;
  }
  const auto found = mpi_regions().find(function);
  if (found == mpi_regions().end())
    throw std::invalid_argument(function + " is not in the function table (mpi_layer/table)");
  return found->second;
}

SampleProcess::SampleProcess(std::int32_t world_rank, std::int32_t world_size) {
  ProcessInfo& info = process_.definitions.info;
  info.world_rank = world_rank;
  info.world_size = world_size;
  info.pid = 1000 + world_rank;
  info.host = world_rank % 2 == 0 ? "node-a" : "node-b";
  add_comm(77, "MPI_COMM_WORLD", kNoComm, {});
  CommDefinition& world = definitions().comms[kWorld];
  world.kind = CommKind::kWorld;
  world.my_rank = world_rank;
  world.members = {{0, 1, world_size}};
  add_comm(1000u + static_cast<std::uint64_t>(world_rank), "MPI_COMM_SELF", kNoComm, {world_rank});
  definitions().comms[kSelf].kind = CommKind::kSelf;
  add_thread("main thread");
  definitions().locations[0].is_main = true;
}

LocationId SampleProcess::add_thread(const std::string& name) {
  const auto id = static_cast<LocationId>(definitions().locations.size());
  definitions().locations.push_back(
      {.id = id, .name = name, .system_thread_id = 5000 + id, .is_main = false});
  process_.locations.emplace_back();
  return id;
}

CommId SampleProcess::add_comm(std::uint64_t global_name, const std::string& name, CommId parent,
                               const std::vector<std::int32_t>& members,
                               const std::vector<std::int32_t>& remote_members) {
  CommDefinition comm;
  comm.id = static_cast<CommId>(definitions().comms.size());
  comm.parent = parent;
  comm.global_name = global_name;
  comm.kind = remote_members.empty() ? CommKind::kIntra : CommKind::kInter;
  comm.name = name;
  const auto me = std::ranges::find(members, definitions().info.world_rank);
  if (me != members.end()) comm.my_rank = static_cast<std::int32_t>(me - members.begin());
  comm.members = compress(members);
  comm.remote_members = compress(remote_members);
  definitions().comms.push_back(comm);
  return comm.id;
}

WinId SampleProcess::add_window(std::uint64_t global_name, const std::string& name,
                                WindowFlavor flavor) {
  const auto id = static_cast<WinId>(definitions().windows.size());
  definitions().windows.push_back(
      {.id = id, .comm = kWorld, .global_name = global_name, .flavor = flavor, .name = name});
  return id;
}

GroupId SampleProcess::add_group(const std::vector<std::int32_t>& members) {
  const auto id = static_cast<GroupId>(definitions().groups.size());
  definitions().groups.push_back({.id = id, .members = compress(members)});
  return id;
}

void SampleProcess::call(const std::string& function, std::uint64_t enter_ns,
                         std::uint64_t leave_ns, std::vector<Fact> facts, LocationId location,
                         std::uint8_t depth, bool is_pending) {
  MemorySource::OwnedCall owned;
  owned.call.enter_ns = enter_ns;
  owned.call.leave_ns = leave_ns;
  owned.call.region = region(function);
  if (!facts.empty()) owned.call.comm = facts.front().comm;
  owned.call.depth = depth;
  owned.call.is_pending = is_pending;
  owned.facts = std::move(facts);
  process_.locations[location].push_back(std::move(owned));
}

void SampleProcess::in(const std::string& function, std::uint64_t enter_ns, std::uint64_t end_ns,
                       std::vector<Fact> posted, LocationId location) {
  call(function, enter_ns, end_ns, std::move(posted), location, 0, /*is_pending=*/true);
  MemorySource::OwnedCall& owned = process_.locations[location].back();
  owned.posted.swap(owned.facts);
}

RegionId SampleProcess::region(const std::string& function) {
  const auto [found, is_new] = regions_.emplace(function,
                                                static_cast<RegionId>(regions_.size() + 1));
  if (is_new) {
    RegionDefinition definition = region_definition(function);
    definition.id = found->second;
    definitions().regions.push_back(std::move(definition));
  }
  return found->second;
}

MemorySource make_source(std::int32_t world_size, const std::vector<SampleProcess>& processes) {
  MemorySource source(world_size);
  for (const SampleProcess& process : processes) source.add(process.process());
  source.set_start_realtime_ns(1'700'000'000'000'000'000);
  return source;
}

}  // namespace megascope::test
