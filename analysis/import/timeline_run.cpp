#include "analysis/import/timeline_run.h"

#include "core/base/hash.h"
#include "core/clocks/clock_domain.h"
#include "core/record/collective_op.h"
#include "core/record/value_fact.h"

#include <algorithm>
#include <set>

namespace megascope::importer {
namespace {

std::uint64_t name_of_group(const std::string& over, const std::vector<std::int32_t>& members) {
  std::uint64_t hash = clock_domain_id(over);
  for (const std::int32_t member : members)
    hash = combined(hash, static_cast<std::uint64_t>(member));
  return not_zero(hash);
}

RegionRole role_of(const OperationSemantics& semantics) {
  if (semantics.op != CollectiveOp::kNone) return megascope::role_of(semantics.op);
  return semantics.kind == OperationKind::kCompute ? RegionRole::kCode : RegionRole::kPointToPoint;
}

const char* group_name(const OperationSemantics& semantics) {
  if (semantics.kind == OperationKind::kCompute) return "compute";
  return semantics.kind == OperationKind::kCollective ? "coll" : "p2p";
}

std::string describe(const GridCoordinates& coordinates) {
  if (coordinates.rank != kUnknown) return "rank " + std::to_string(coordinates.rank);
  const auto say = [](const char* name, std::int32_t index) {
    return index == kUnknown ? "" : std::string(" ") + name + " " + std::to_string(index);
  };
  return "the worker" + say("dp", coordinates.dp) + say("pp", coordinates.pp) +
         say("tp", coordinates.tp);
}

}  // namespace

class OperationStream final : public CallStream {
 public:
  OperationStream(const TimelineRun& run, const TimelineRun::Worker& worker, const Lane& lane)
      : run_(run), worker_(worker), lane_(lane) {}

  bool next(Call& call) override {
    if (at_ == lane_.operations.size()) return false;
    const std::uint32_t index = lane_.operations[at_++];
    const Operation& operation = run_.timeline_.operations[index];
    while (!open_ends_ns_.empty() && open_ends_ns_.back() <= operation.begin_ns)
      open_ends_ns_.pop_back();
    call = {};
    call.enter_ns = operation.begin_ns;
    call.leave_ns = operation.end_ns;
    call.region = static_cast<RegionId>(operation.name + 1);
    call.depth = static_cast<std::uint8_t>(std::min<std::size_t>(open_ends_ns_.size(), 7));
    open_ends_ns_.push_back(operation.end_ns);
    facts_.clear();
    run_.facts_of(worker_, index, facts_);
    call.facts = facts_;
    return true;
  }

 private:
  const TimelineRun& run_;
  const TimelineRun::Worker& worker_;
  const Lane& lane_;
  std::size_t at_ = 0;
  std::vector<std::uint64_t> open_ends_ns_;
  std::vector<Fact> facts_;
};

Status TimelineRun::make(Timeline timeline, const ParallelGrid& grid, const OperationTable& table,
                         std::unique_ptr<TimelineRun>& run) {
  if (timeline.operations.empty())
    return Status::error(timeline.source + " contains no operations");
  if (timeline.names.size() >= kFirstReservedRegion - 1)
    return Status::error(timeline.source + " has more than 65000 operation names");
  if (timeline.operations.size() >= UINT32_MAX)
    return Status::error(timeline.source + " has more than 2^32 operations");
  const auto has_step = [](const Operation& operation) { return operation.step != kUnknown; };
  const auto is_mpi = [](const RegionDefinition& region) {
    return region.paradigm == Paradigm::kMpi;
  };  // where calls show the steps
  if (std::none_of(timeline.operations.begin(), timeline.operations.end(), has_step) &&
      std::none_of(timeline.regions.begin(), timeline.regions.end(), is_mpi)) {
    timeline.notes.emplace_back(
        "no operation has a step number (args.step): steps cannot be compared");
  }
  std::vector<std::int32_t> rank_of_track;
  for (Track& track : timeline.tracks) {
    if (!grid.contains(track.coordinates)) {
      return Status::error(timeline.source + ": " + describe(track.coordinates) +
                           " does not fit into the parallel sizes: " + std::to_string(grid.size()) +
                           " ranks");
    }
    rank_of_track.push_back(grid.rank_of(track.coordinates));
  }
  run.reset(new TimelineRun(std::move(timeline), grid, table, rank_of_track));
  return run->define_workers(rank_of_track);
}

TimelineRun::TimelineRun(Timeline timeline, const ParallelGrid& grid, const OperationTable& table,
                         const std::vector<std::int32_t>& rank_of_track)
    : timeline_(std::move(timeline)), grid_(grid), numbers_(timeline_, rank_of_track, table) {
  for (const std::string& name : timeline_.names) semantics_.push_back(table.of(name));
  for (const OperationSemantics& semantics : semantics_)
    is_work_.push_back(semantics.kind == OperationKind::kCompute);
  for (std::size_t name = 0; name < timeline_.regions.size(); ++name) {
    if (!timeline_.regions[name].name.empty()) is_work_[name] = true;  // it was nested so in a run
  }
}

Status TimelineRun::define_workers(const std::vector<std::int32_t>& rank_of_track) {
  for (std::size_t i = 0; i < timeline_.operations.size(); ++i) {
    const Operation& operation = timeline_.operations[i];
    Worker& worker = workers_[rank_of_track[operation.track]];
    worker.operations.push_back(static_cast<std::uint32_t>(i));
    const std::int32_t definitions = timeline_.tracks[operation.track].definitions;
    if (definitions != kUnknown)
      worker.specified = &timeline_.definitions[static_cast<std::size_t>(definitions)];
    end_ns_ = std::max(end_ns_, operation.end_ns);
  }
  Status status;
  for (auto& [rank, worker] : workers_) {
    ranks_.push_back(rank);
    worker.coordinates = grid_.coordinates_of(rank);
    status.update(define(rank, worker));
    worker.operations = {};
    define_groups(rank, worker);
  }
  return status;
}

Status TimelineRun::define(std::int32_t rank, Worker& worker) {
  ProcessInfo& info = worker.definitions.info;
  info.world_rank = rank;
  info.world_size = grid_.size();
  info.run_id = "import-" + std::to_string(clock_domain_id(timeline_.source) % 1'000'000'007);
  info.program = timeline_.source;
  info.command_line = "imported from " + timeline_.source;
  info.end_state = EndState::kFinalized;
  if (timeline_.has_grid) info.parallel = grid_.indices_of(worker.coordinates);
  std::set<std::uint32_t> names;
  for (const std::uint32_t operation : worker.operations)
    names.insert(timeline_.operations[operation].name);
  for (const std::uint32_t name : names) {
    worker.definitions.regions.push_back(region_of(name));
  }
  if (worker.specified != nullptr) info.host = worker.specified->host;
  const Status status = lanes_of(timeline_, worker.operations, is_work_, worker.lanes);
  for (std::size_t i = 0; i < worker.lanes.size(); ++i) {
    LocationDefinition location{.id = static_cast<LocationId>(i), .name = worker.lanes[i].name};
    location.is_main = i == 0;
    if (worker.lanes[i].is_extra)
      timeline_.repairs.add(RepairKind::kOverlap, worker.lanes[i].operations.size(),
                            "on " + worker.lanes[i].name);
    worker.definitions.locations.push_back(location);
  }
  return status.is_ok() ? status
                        : Status::error(timeline_.source + ", " + describe(worker.coordinates) +
                                        ": " + status.message());
}

RegionDefinition TimelineRun::region_of(std::uint32_t name) const {
  const OperationSemantics& semantics = semantics_[name];
  RegionDefinition region{.id = static_cast<RegionId>(name + 1),
                          .name = timeline_.names[name],
                          .role = role_of(semantics),
                          .paradigm = Paradigm::kUser,
                          .collective_op = semantics.op,
                          .group = group_name(semantics)};
  if (name >= timeline_.regions.size() || timeline_.regions[name].name.empty()) return region;
  RegionDefinition specified = timeline_.regions[name];
  specified.id = region.id;
  return specified;
}

const TimelineRun::Group& TimelineRun::group_of(const std::string& over,
                                                const GridCoordinates& coordinates) {
  const std::int32_t first = grid_.first_member(over, coordinates);
  const auto [at, is_new] = groups_.try_emplace({over, first});
  if (is_new && first >= 0) {
    const std::vector<std::int32_t> members = grid_.members(over, coordinates);
    at->second = {name_of_group(over, members), compress(members)};
  }
  return at->second;
}

void TimelineRun::define_groups(std::int32_t rank, Worker& worker) {
  std::vector<CommDefinition>& comms = worker.definitions.comms;
  if (worker.specified != nullptr) {
    comms = worker.specified->comms;
    return;
  }
  for (const std::string over : {"world", "dp", "tp", "pp", "pp ends"}) {
    const Group& group = group_of(over, worker.coordinates);
    if (group.members.empty()) continue;
    CommDefinition comm;
    comm.id = static_cast<CommId>(comms.size());
    comm.global_name = group.name;
    comm.name = over + " group";
    comm.kind = over == "world" ? CommKind::kWorld : CommKind::kIntra;
    comm.parent = over == "world" ? kNoComm : 0;
    comm.my_rank = over == "world" ? rank : grid_.index_in(over, worker.coordinates);
    comm.members = group.members;
    worker.comms[over] = comm.id;
    comms.push_back(std::move(comm));
  }
}

void TimelineRun::message_facts(const Worker& worker, std::uint32_t operation,
                                std::vector<Fact>& facts) const {
  const OperationSemantics& semantics = semantics_[timeline_.operations[operation].name];
  const CommId comm = worker.comms.at(semantics.over);
  const std::uint64_t both_bytes = timeline_.operations[operation].bytes;
  const std::uint64_t bytes = semantics.kind == OperationKind::kExchange
                                  ? both_bytes / 2
                                  : both_bytes;  // alike both ways
  const auto add = [&](FactKind kind, std::int32_t distance, std::uint32_t tag) {
    const std::int32_t peer = grid_.neighbour(semantics.over, worker.coordinates, distance);
    if (peer < 0)
      return;  // end of a pipeline: the operation is in the file, but no message was sent
    facts.push_back({.kind = kind,
                     .comm = comm,
                     .peer = peer,
                     .tag = static_cast<std::int32_t>(tag & 0x7FFFFFFF),
                     .bytes = bytes});
  };
  if (semantics.kind != OperationKind::kRecv)
    add(FactKind::kSend, semantics.to, numbers_.sent(operation));
  if (semantics.kind != OperationKind::kSend)
    add(FactKind::kRecv, semantics.from, numbers_.received(operation));
}

void TimelineRun::specified_facts(const Operation& operation, std::vector<Fact>& facts) const {
  const SpecifiedFacts& specified = timeline_.specified[operation.specified - 1];
  for (std::size_t i = 0; i < specified.count; ++i)
    facts.push_back(timeline_.facts[specified.first + i]);
}

void TimelineRun::facts_of(const Worker& worker, std::uint32_t index,
                           std::vector<Fact>& facts) const {
  const Operation& operation = timeline_.operations[index];
  const OperationSemantics& semantics = semantics_[operation.name];
  if (operation.specified != 0) {
    specified_facts(operation, facts);
  } else if (semantics.kind == OperationKind::kCollective) {
    const auto comm = worker.comms.find(semantics.over);
    if (comm != worker.comms.end()) {
      facts.push_back({.kind = FactKind::kCollective,
                       .comm = comm->second,
                       .sequence = numbers_.sent(index),
                       .bytes = operation.bytes,
                       .bytes_received = operation.bytes});
    }
  } else if (semantics.kind != OperationKind::kCompute) {
    message_facts(worker, index, facts);
  }
  const auto report = [&facts](ValueName name, std::int32_t value) {
    if (value != kUnknown) facts.push_back(value_fact(name, value));
  };
  report(ValueName::kStep, operation.step);
  report(ValueName::kMicroBatch, operation.micro_batch);
  report(ValueName::kModelChunk, operation.model_chunk);
  report(ValueName::kSequence, operation.sequence);
}

std::unique_ptr<CallStream> TimelineRun::calls(std::int32_t world_rank, LocationId location) const {
  const Worker& worker = workers_.at(world_rank);
  return std::make_unique<OperationStream>(*this, worker, worker.lanes.at(location));
}

}  // namespace megascope::importer
