#include "analysis/synth/synth.h"

#include "analysis/synth/random.h"

#include <algorithm>
#include <string>

namespace megascope::synth {
namespace {

constexpr std::int32_t kMaxRanks = 1024;
constexpr std::uint64_t kClockKey = 99;

struct RegionRow {
  const char* name;
  RegionRole role;
  CollectiveOp op;
  const char* group;
};
constexpr RegionRow kRegions[] = {
    {"MPI_Init", RegionRole::kFunction, CollectiveOp::kNone, "env"},
    {"MPI_Send", RegionRole::kPointToPoint, CollectiveOp::kNone, "p2p"},
    {"MPI_Recv", RegionRole::kPointToPoint, CollectiveOp::kNone, "p2p"},
    {"MPI_Isend", RegionRole::kPointToPoint, CollectiveOp::kNone, "p2p"},
    {"MPI_Irecv", RegionRole::kPointToPoint, CollectiveOp::kNone, "p2p"},
    {"MPI_Waitall", RegionRole::kPointToPoint, CollectiveOp::kNone, "request"},
    {"MPI_Allreduce", RegionRole::kCollAllToAll, CollectiveOp::kAllreduce, "coll"},
    {"MPI_Finalize", RegionRole::kFunction, CollectiveOp::kNone, "env"},
};

ProcessDefinitions define(const RunSpec& spec, const Layout& layout, std::int32_t rank) {
  ProcessDefinitions process;
  process.info.world_rank = rank;
  process.info.world_size = spec.rank_count();
  process.info.pid = 10'000 + rank;
  process.info.run_id = "synth-" + std::to_string(spec.seed);
  process.info.host = Layout::host_name(layout.host_of(rank));
  process.info.program = "synthetic";
  process.info.end_state = EndState::kFinalized;
  process.info.interfaces = kInterfaceC;
  for (std::size_t i = 0; i < std::size(kRegions); ++i) {
    const RegionRow& row = kRegions[i];
    process.regions.push_back({.id = static_cast<RegionId>(i + 1),
                               .name = row.name,
                               .role = row.role,
                               .paradigm = Paradigm::kMpi,
                               .collective_op = row.op,
                               .group = row.group});
  }
  process.comms = layout.definitions(rank);
  process.locations = {
      {.id = 0, .name = "main thread", .system_thread_id = process.info.pid, .is_main = true}};
  return process;
}

class Stream final : public CallStream {
 public:
  explicit Stream(const RankCalls& calls) : calls_(calls) {}
  bool next(Call& call) override {
    if (at_ == calls_.calls.size()) return false;
    const StoredCall& stored = calls_.calls[at_++];
    call = {};
    call.enter_ns = stored.enter_ns;
    call.leave_ns = stored.leave_ns;
    call.region = stored.region;
    call.comm = stored.comm;
    call.facts = {calls_.facts.data() + stored.first_fact, stored.fact_count};
    return true;
  }

 private:
  const RankCalls& calls_;
  std::size_t at_ = 0;
};

Status check_fault(const RunSpec& spec, const Fault& fault) {
  const bool is_halo = spec.pattern == Pattern::kHalo;
  const std::int32_t hosts = (spec.rank_count() + spec.ranks_per_host - 1) / spec.ranks_per_host;
  std::int32_t limit = spec.rank_count();
  if (fault.kind == FaultKind::kSlowHost) limit = hosts;
  if (fault.kind == FaultKind::kStageImbalance) limit = is_halo ? 0 : spec.pp;
  if (fault.kind == FaultKind::kInputImbalance) limit = is_halo ? 0 : spec.dp;
  if (fault.where < 0 || fault.where >= limit)
    return Status::error("a fault is at " + std::to_string(fault.where) + ", of " +
                         std::to_string(limit));
  if (fault.kind == FaultKind::kSlowLink &&
      (fault.to < 0 || fault.to >= limit || fault.to == fault.where)) {
    return Status::error("a slow link needs two ranks");
  }
  if (!(fault.severity > 0.0 && fault.severity <= 1000.0))
    return Status::error("a fault's severity must be above 0 and at most 1000");
  if (fault.period < 1 || fault.active < 1 || fault.onset < 0)
    return Status::error("a fault's steps are out of range");
  return {};
}

}  // namespace

Status check(const RunSpec& spec) {
  const auto in = [](std::int64_t value, std::int64_t low, std::int64_t high) {
    return value >= low && value <= high;
  };
  if (spec.pattern == Pattern::kHalo) {
    if (!in(spec.grid_x, 1, kMaxRanks) || !in(spec.grid_y, 1, kMaxRanks))
      return Status::error("the grid is out of range");
    if (!in(spec.sweeps, 1, 10'000)) return Status::error("sweeps must be 1 to 10000");
  } else if (!in(spec.tp, 1, kMaxRanks) || !in(spec.pp, 1, kMaxRanks) ||
             !in(spec.dp, 1, kMaxRanks)) {
    return Status::error("tp, pp and dp must be 1 to 1024");
  }
  const std::int64_t ranks = spec.pattern == Pattern::kHalo
                                 ? std::int64_t{spec.grid_x} * spec.grid_y
                                 : std::int64_t{spec.tp} * spec.pp * spec.dp;
  if (!in(ranks, 1, kMaxRanks))
    return Status::error("there are " + std::to_string(ranks) + " ranks, at most 1024 can be made");
  if (!in(spec.steps, 1, 1'000'000) || !in(spec.ranks_per_host, 1, kMaxRanks))
    return Status::error("steps or ranks per host are out of range");
  if (!in(spec.micro_batches, 1, 10'000) || !in(spec.layers, 1, 1'000))
    return Status::error("micro-batches or layers are out of range");
  if (spec.pattern == Pattern::kInterleaved &&
      (!in(spec.chunks, 1, 64) || spec.micro_batches % spec.pp != 0)) {
    return Status::error(
        "the interleaved schedule needs 1 to 64 chunks and micro-batches that are a multiple of "
        "pp");
  }
  Status status;
  for (const Fault& fault : spec.faults) status.update(check_fault(spec, fault));
  return status;
}

SynthRun::SynthRun(const RunSpec& spec) {
  const Layout layout(spec);
  for (std::int32_t rank = 0; rank < spec.rank_count(); ++rank) {
    ranks_.push_back(rank);
    processes_.push_back(define(spec, layout, rank));
  }
  calls_ = simulate(spec, layout);
  for (const RankCalls& rank : calls_) end_ns_ = std::max(end_ns_, rank.calls.back().leave_ns);
}

std::unique_ptr<CallStream> SynthRun::calls(std::int32_t rank, LocationId) const {
  return std::make_unique<Stream>(calls_[static_cast<std::size_t>(rank)]);
}

std::uint64_t SynthRun::call_count() const {
  std::uint64_t count = 0;
  for (const RankCalls& rank : calls_) count += rank.calls.size();
  return count;
}

std::vector<RankClock> clocks_of(const RunSpec& spec) {
  std::vector<RankClock> clocks;
  for (std::int32_t rank = 0; rank < spec.rank_count(); ++rank) {
    const std::int32_t host = rank / spec.ranks_per_host;
    Random random(spec.seed, kClockKey, static_cast<std::uint64_t>(host));
    const double offset = random.between(-1.0, 1.0) * spec.clocks.offset_ns;
    clocks.push_back({host, static_cast<std::int64_t>(offset),
                      random.between(-1.0, 1.0) * spec.clocks.drift_ppm});
  }
  return clocks;
}

}  // namespace megascope::synth
