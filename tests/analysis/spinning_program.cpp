#include "spinning_program.h"

#include "core/record/value_fact.h"

#include <algorithm>
#include <random>
#include <string>

namespace megascope {
namespace {

enum Function : RegionId { kInit = 1, kPack, kBarrier, kAllreduce, kFinalize, kBackward, kStep };
constexpr CommId kWorld = 0;
constexpr CommId kGroup = 1;
constexpr double kCallNs = 2e3;

/// One rank's trace while it is made.
class Rank {
 public:
  Rank(const SpinningProgram& program, std::int32_t number)
      : clock_ns_(program.clock_ns[static_cast<std::size_t>(number)]) {
    ProcessDefinitions& definitions = process_.definitions;
    definitions.info.world_rank = number;
    definitions.info.world_size = program.ranks;
    definitions.info.host = "n1";
    definitions.info.run_id = "run";
    const bool is_one_clock = std::ranges::count(program.clock_ns, 0) == program.ranks;
    definitions.info.clock_domain = is_one_clock ? "n1" : "n" + std::to_string(number);
    definitions.info.end_state = EndState::kFinalized;
    definitions.locations.push_back({.id = 0, .name = "main thread", .is_main = true});
    const auto add = [&](Function id, const char* name, RegionRole role, CollectiveOp op) {
      definitions.regions.push_back(
          {.id = id, .name = name, .role = role, .collective_op = op, .group = ""});
    };
    add(kInit, "MPI_Init", RegionRole::kUnknown, CollectiveOp::kNone);
    add(kPack, "MPI_Pack", RegionRole::kUnknown, CollectiveOp::kNone);
    add(kBarrier, "MPI_Barrier", RegionRole::kCollBarrier, CollectiveOp::kBarrier);
    add(kAllreduce, "MPI_Allreduce", RegionRole::kCollAllToAll, CollectiveOp::kAllreduce);
    add(kFinalize, "MPI_Finalize", RegionRole::kUnknown, CollectiveOp::kNone);
    const auto add_region = [&](Function id, const char* name) {
      add(id, name, RegionRole::kCode, CollectiveOp::kNone);
      definitions.regions.back().paradigm = Paradigm::kUser;
    };
    if (program.has_regions) add_region(kBackward, "backward");
    if (program.has_steps) add_region(kStep, "step");
    definitions.comms.push_back({.id = kWorld,
                                 .global_name = 1,
                                 .kind = CommKind::kWorld,
                                 .name = "MPI_COMM_WORLD",
                                 .my_rank = number,
                                 .members = {{0, 1, program.ranks}},
                                 .remote_members = {}});
    const std::int32_t first = number / program.group_size * program.group_size;
    if (program.has_communicators) {
      definitions.comms.push_back({.id = kGroup,
                                   .parent = kWorld,
                                   .global_name = 100 + static_cast<std::uint64_t>(first),
                                   .name = "group",
                                   .my_rank = number - first,
                                   .members = {{first, 1, program.group_size}},
                                   .remote_members = {}});
    }
    process_.locations.emplace_back();
  }

  double now_ns = 1e6;

  void call(Function function, double end_ns, const std::vector<Fact>& facts = {}) {
    add(function, now_ns, end_ns, facts);
    now_ns = end_ns;
  }
  void collective(Function function, double end_ns) {
    call(function, end_ns,
         {{.kind = FactKind::kCollective,
           .comm = kWorld,
           .sequence = sequence_++,
           .bytes = function == kBarrier ? 0U : 8U,
           .bytes_received = function == kBarrier ? 0U : 8U}});
  }
  /// Its end is known once it is there.
  void enter(Function region, const std::vector<Fact>& facts = {}) {
    open_.push_back(process_.locations[0].size());
    add(region, now_ns, now_ns, facts);
  }
  void leave() {
    process_.locations[0][open_.back()].call.leave_ns = time_of(now_ns);
    open_.pop_back();
  }
  MemorySource::Process take() { return std::move(process_); }

 private:
  std::uint64_t time_of(double ns) const {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(ns) + clock_ns_);
  }
  void add(Function function, double begin_ns, double end_ns, const std::vector<Fact>& facts) {
    process_.locations[0].push_back({{.enter_ns = time_of(begin_ns),
                                      .leave_ns = time_of(end_ns),
                                      .region = function,
                                      .comm = facts.empty() ? kNoComm : facts.front().comm,
                                      .facts = {}},
                                     facts,
                                     {}});
  }

  MemorySource::Process process_;
  std::int64_t clock_ns_;
  std::vector<std::size_t> open_;  ///< regions
  std::uint32_t sequence_ = 0;
};

double latest_ns(const std::vector<Rank>& ranks, std::size_t first, std::size_t count) {
  double latest = 0.0;
  for (std::size_t i = first; i < first + count; ++i) latest = std::max(latest, ranks[i].now_ns);
  return latest;
}

}  // namespace

MemorySource SpinningProgram::run() const {
  std::mt19937 random(11);
  std::lognormal_distribution<double> vary(0.0, noise);
  std::vector<Rank> all;
  for (std::int32_t number = 0; number < ranks; ++number) all.emplace_back(*this, number);
  for (Rank& rank : all) rank.call(kInit, rank.now_ns + 1e5);
  const auto count = static_cast<std::size_t>(ranks);
  const auto of_group = static_cast<std::size_t>(group_size);
  const auto meet = [&](Function function) {
    const double end_ns = latest_ns(all, 0, count) + kCallNs;
    for (Rank& rank : all) rank.collective(function, end_ns);
  };
  for (std::int32_t step = 0; step < steps; ++step) {
    const double common = step >= steps / 2 ? common_factor_from_half : 1.0;
    const Fact packed{.kind = FactKind::kLocalBytes, .bytes = 64};
    for (std::size_t i = 0; i < count; ++i) {
      if (has_steps) all[i].enter(kStep, {value_fact(ValueName::kStep, step)});
      const double work_ns = kBeforeNs * before[i] * common * vary(random);
      for (std::int32_t call = 0; call < calls_in_work; ++call) {
        all[i].now_ns += work_ns * vary(random);
        all[i].call(kPack, all[i].now_ns + kCallNs, {packed});
      }
      all[i].now_ns += work_ns;
      all[i].call(kPack, all[i].now_ns + kCallNs, {packed});
      if (has_regions) all[i].enter(kBackward);
      all[i].now_ns += kInsideNs * inside[i] * common * vary(random);
    }
    for (std::size_t first = 0; first < count; first += of_group) {
      const double together_ns = latest_ns(all, first, of_group);
      for (std::size_t i = first; i < first + of_group; ++i) {
        // A flag is seen a little later by some.
        if (has_hidden_sync && step % sync_every == 0)
          all[i].now_ns = together_ns + 100.0 * static_cast<double>(i);
        if (has_regions) all[i].leave();
      }
    }
    if (step >= extra_calls_from && step % 3 == 0) meet(kBarrier);
    meet(kAllreduce);
    for (Rank& rank : all) {
      if (has_steps) rank.leave();
    }
  }
  MemorySource run(ranks);
  for (Rank& rank : all) {
    rank.call(kFinalize, rank.now_ns + 1e4);
    run.add(rank.take());
  }
  return run;
}

}  // namespace megascope
