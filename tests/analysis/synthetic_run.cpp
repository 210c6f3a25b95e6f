#include "tests/analysis/synthetic_run.h"

#include <algorithm>
#include <map>

namespace megascope::analysis {
namespace {

CollectiveOp op_of(const std::string& function) {
  static const std::map<std::string, CollectiveOp> kOps = {
      {"MPI_Barrier", CollectiveOp::kBarrier},
      {"MPI_Bcast", CollectiveOp::kBcast},
      {"MPI_Allreduce", CollectiveOp::kAllreduce},
      {"MPI_Gather", CollectiveOp::kGather},
      {"MPI_Ibarrier", CollectiveOp::kBarrier},
      {"MPI_Reduce", CollectiveOp::kReduce},
      {"MPI_Scan", CollectiveOp::kScan}};
  const auto found = kOps.find(function);
  return found != kOps.end() ? found->second : CollectiveOp::kNone;
}

}  // namespace

SyntheticRun::SyntheticRun(std::int32_t size, int thread_count)
    : processes_(static_cast<std::size_t>(size)) {
  for (std::int32_t rank = 0; rank < size; ++rank) {
    ProcessDefinitions& definitions = process(rank).definitions;
    definitions.info.world_rank = rank;
    definitions.info.world_size = size;
    definitions.info.thread_level = thread_count > 1 ? 3 : 0;
    definitions.comms = {{.id = 0,
                          .global_name = 1,
                          .kind = CommKind::kWorld,
                          .name = "MPI_COMM_WORLD",
                          .my_rank = rank,
                          .members = {{0, 1, size}},
                          .remote_members = {}}};
    for (int i = 0; i < thread_count; ++i) {
      definitions.locations.push_back({.id = static_cast<LocationId>(i),
                                       .name = "thread " + std::to_string(i),
                                       .is_main = i == 0});
    }
    process(rank).locations.resize(static_cast<std::size_t>(thread_count));
  }
}

CommId SyntheticRun::comm(const std::string& name, const std::vector<std::int32_t>& members,
                          CommKind kind, const std::vector<std::int32_t>& remote) {
  const std::uint64_t global_name = next_name_++;
  const auto id = static_cast<CommId>(std::ranges::max(processes_, {}, [](const auto& process) {
                                        return process.definitions.comms.size();
                                      }).definitions.comms.size());
  const auto define = [&](const std::vector<std::int32_t>& mine,
                          const std::vector<std::int32_t>& theirs) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      auto& comms = process(mine[i]).definitions.comms;
      while (comms.size() < id) {  // numbers have no holes
        comms.push_back({.id = static_cast<CommId>(comms.size()),
                         .global_name = next_name_++,
                         .kind = CommKind::kSelf,
                         .name = "filler",
                         .members = {{mine[i], 1, 1}},
                         .remote_members = {}});
      }
      comms.push_back({.id = id,
                       .parent = 0,
                       .global_name = global_name,
                       .kind = kind,
                       .name = name,
                       .my_rank = static_cast<std::int32_t>(i),
                       .members = compress(mine),
                       .remote_members = compress(theirs)});
    }
  };
  define(members, remote);
  define(remote, members);
  return id;
}

RegionId SyntheticRun::region(const std::string& function) {
  const auto found = std::ranges::find(functions_, function);
  const auto id = static_cast<RegionId>(found - functions_.begin() + 1);
  if (found != functions_.end()) return id;
  functions_.push_back(function);
  for (auto& process : processes_) {
    process.definitions.regions.push_back({.id = id,
                                           .name = function,
                                           .role = RegionRole::kFunction,
                                           .collective_op = op_of(function),
                                           .group = {}});
  }
  return id;
}

void SyntheticRun::append(std::int32_t rank, MemorySource::OwnedCall call, LocationId location) {
  process(rank).locations[location].push_back(std::move(call));
}

SyntheticRun& SyntheticRun::call(std::int32_t rank, const std::string& function,
                                 std::uint64_t enter_ns, std::vector<Fact> facts,
                                 LocationId location) {
  return spent(rank, function, enter_ns, enter_ns + 1, std::move(facts), location);
}

SyntheticRun& SyntheticRun::spent(std::int32_t rank, const std::string& function,
                                  std::uint64_t enter_ns, std::uint64_t leave_ns,
                                  std::vector<Fact> facts, LocationId location) {
  const CommId comm = facts.empty() ? kNoComm : facts.front().comm;
  append(rank,
         {{.enter_ns = enter_ns,
           .leave_ns = leave_ns,
           .region = region(function),
           .comm = comm,
           .facts = {},
           .posted = {}},
          std::move(facts),
          {}},
         location);
  return *this;
}

SyntheticRun& SyntheticRun::in(std::int32_t rank, const std::string& function,
                               std::uint64_t enter_ns, std::vector<Fact> posted,
                               LocationId location) {
  const CommId comm = posted.empty() ? kNoComm : posted.front().comm;
  append(rank,
         {{.enter_ns = enter_ns,
           .leave_ns = enter_ns + 1,
           .region = region(function),
           .comm = comm,
           .is_pending = true,
           .facts = {}},
          {},
          std::move(posted)},
         location);
  return *this;
}

SyntheticRun& SyntheticRun::collective(std::int32_t rank, const std::string& function,
                                       std::uint64_t enter_ns, CommId comm, std::uint32_t sequence,
                                       std::int32_t root, std::uint64_t bytes, bool is_inside) {
  const Fact fact{.kind = FactKind::kCollective,
                  .comm = comm,
                  .sequence = sequence,
                  .peer = root,
                  .bytes = bytes,
                  .bytes_received = bytes};
  return is_inside ? in(rank, function, enter_ns, {fact}) : call(rank, function, enter_ns, {fact});
}

SyntheticRun& SyntheticRun::finish(std::uint64_t time_ns) {
  for (auto& process : processes_) {
    call(process.definitions.info.world_rank, "MPI_Finalize", time_ns);
    process.definitions.info.end_state = EndState::kFinalized;
  }
  return *this;
}

std::unique_ptr<MemorySource> SyntheticRun::source(const std::vector<std::int32_t>& missing) const {
  auto source = std::make_unique<MemorySource>(static_cast<std::int32_t>(processes_.size()));
  for (const auto& process : processes_) {
    if (std::ranges::find(missing, process.definitions.info.world_rank) == missing.end())
      source->add(process);
  }
  return source;
}

Fact collective_fact(std::uint32_t sequence, std::int32_t root, std::uint64_t bytes, CommId comm) {
  return {.kind = FactKind::kCollective,
          .comm = comm,
          .sequence = sequence,
          .peer = root,
          .bytes = bytes,
          .bytes_received = bytes};
}
Fact receive(std::int32_t peer, std::int32_t tag, CommId comm) {
  return {.kind = FactKind::kRecv, .comm = comm, .peer = peer, .tag = tag, .bytes = 8};
}
Fact send(std::int32_t peer, std::int32_t tag, std::uint64_t bytes, CommId comm) {
  return {.kind = FactKind::kSend, .comm = comm, .peer = peer, .tag = tag, .bytes = bytes};
}
Fact receive_request(RequestId request, std::int32_t peer, std::int32_t tag, CommId comm) {
  return {.kind = FactKind::kRecvRequest,
          .comm = comm,
          .request = request,
          .peer = peer,
          .tag = tag,
          .bytes = 8};
}
Fact send_request(RequestId request, std::int32_t peer, std::int32_t tag, std::uint64_t bytes,
                  CommId comm) {
  return {.kind = FactKind::kSendRequest,
          .comm = comm,
          .request = request,
          .peer = peer,
          .tag = tag,
          .bytes = bytes};
}
Fact receive_complete(RequestId request, std::int32_t peer, std::int32_t tag, CommId comm) {
  return {.kind = FactKind::kRecvComplete,
          .comm = comm,
          .request = request,
          .peer = peer,
          .tag = tag,
          .bytes = 8};
}
Fact over(std::uint32_t request_count) {
  return {.kind = FactKind::kRequestTest, .bytes = request_count};
}

}  // namespace megascope::analysis
