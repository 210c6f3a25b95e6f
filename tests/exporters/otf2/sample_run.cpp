#include "tests/exporters/otf2/sample_run.h"

#include <numeric>
#include <utility>

namespace megascope::test {

Fact send(std::int32_t peer, std::int32_t tag, std::uint64_t bytes, CommId comm) {
  return {.kind = FactKind::kSend, .comm = comm, .peer = peer, .tag = tag, .bytes = bytes};
}
Fact recv(std::int32_t peer, std::int32_t tag, std::uint64_t bytes, CommId comm) {
  return {.kind = FactKind::kRecv, .comm = comm, .peer = peer, .tag = tag, .bytes = bytes};
}
Fact isend(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
           CommId comm) {
  return {.kind = FactKind::kSendRequest,
          .comm = comm,
          .request = request,
          .peer = peer,
          .tag = tag,
          .bytes = bytes};
}
Fact irecv(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
           CommId comm) {
  return {.kind = FactKind::kRecvRequest,
          .comm = comm,
          .request = request,
          .peer = peer,
          .tag = tag,
          .bytes = bytes};
}
Fact sent(RequestId request) { return of_request(FactKind::kSendComplete, request); }
Fact received(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
              CommId comm) {
  return {.kind = FactKind::kRecvComplete,
          .comm = comm,
          .request = request,
          .peer = peer,
          .tag = tag,
          .bytes = bytes};
}
Fact of_request(FactKind kind, RequestId request) { return {.kind = kind, .request = request}; }
Fact collective(std::uint32_t sequence, std::int32_t root, std::uint64_t bytes_sent,
                std::uint64_t bytes_received, CommId comm) {
  return {.kind = FactKind::kCollective,
          .comm = comm,
          .sequence = sequence,
          .peer = root,
          .bytes = bytes_sent,
          .bytes_received = bytes_received};
}
Fact with_request(FactKind kind, RequestId request, Fact fact) {
  fact.kind = kind;
  fact.request = request;
  return fact;
}
Fact created(CommId comm) { return {.kind = FactKind::kCommCreated, .comm = comm}; }
Fact freed(CommId comm) { return {.kind = FactKind::kCommFreed, .comm = comm}; }

Fact one_sided(FactKind kind, WinId window, std::int32_t peer, std::uint64_t bytes,
               RequestId request, std::uint32_t sequence) {
  return {.kind = kind,
          .comm = kWorld,
          .request = request,
          .sequence = sequence,
          .peer = peer,
          .tag = window_field(window),
          .bytes = bytes};
}

RegionDefinition region_definition(const std::string& function) {
  struct Semantics {
    RegionRole role;
    CollectiveOp operation;
    const char* group;
  };
  static const std::map<std::string, Semantics> table = {
      {"MPI_Init", {RegionRole::kFunction, CollectiveOp::kNone, "env"}},
      {"MPI_Finalize", {RegionRole::kFunction, CollectiveOp::kNone, "env"}},
      {"MPI_Send", {RegionRole::kPointToPoint, CollectiveOp::kNone, "p2p"}},
      {"MPI_Recv", {RegionRole::kPointToPoint, CollectiveOp::kNone, "p2p"}},
      {"MPI_Barrier", {RegionRole::kCollBarrier, CollectiveOp::kBarrier, "coll"}},
      {"MPI_Bcast", {RegionRole::kCollOneToAll, CollectiveOp::kBcast, "coll"}},
      {"MPI_Allreduce", {RegionRole::kCollAllToAll, CollectiveOp::kAllreduce, "coll"}},
      {"MPI_Iallreduce", {RegionRole::kCollAllToAll, CollectiveOp::kAllreduce, "coll"}},
      {"MPI_Comm_split", {RegionRole::kCollOther, CollectiveOp::kCreateHandle, "comm"}},
      {"MPI_Intercomm_create", {RegionRole::kCollOther, CollectiveOp::kCreateHandle, "comm"}},
      {"MPI_Comm_free", {RegionRole::kCollOther, CollectiveOp::kDestroyHandle, "comm"}},
  };
  const auto found = table.find(function);
  RegionDefinition region;
  region.name = function;
  region.role = found == table.end() ? RegionRole::kPointToPoint : found->second.role;
  region.collective_op = found == table.end() ? CollectiveOp::kNone : found->second.operation;
  region.group = found == table.end() ? "p2p" : found->second.group;
  return region;
}

SampleProcess::SampleProcess(std::int32_t world_rank, std::int32_t world_size) {
  ProcessInfo& info = process_.definitions.info;
  info.world_rank = world_rank;
  info.world_size = world_size;
  info.pid = 1000 + world_rank;
  info.host = world_rank % 2 == 0 ? "node-a" : "node-b";
  std::vector<std::int32_t> all(static_cast<std::size_t>(world_size));
  std::iota(all.begin(), all.end(), 0);
  add_comm(77, "MPI_COMM_WORLD", kNoComm, all);
  definitions().comms[kWorld].kind = CommKind::kWorld;
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
                         std::uint64_t leave_ns, std::initializer_list<Fact> facts,
                         LocationId location, std::uint8_t depth, bool is_pending) {
  MemorySource::OwnedCall owned;
  owned.call.enter_ns = enter_ns;
  owned.call.leave_ns = leave_ns;
  owned.call.region = region(function);
  owned.call.depth = depth;
  owned.call.is_pending = is_pending;
  owned.facts = facts;
  process_.locations[location].push_back(std::move(owned));
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
  for (SampleProcess process : processes) source.add(std::move(process.process()));
  source.set_start_realtime_ns(1'700'000'000'000'000'000);
  return source;
}

}  // namespace megascope::test
