#include "tests/analysis/second_generator.h"

#include "core/record/memory_source.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>

namespace megascope::second {
namespace {

using synth::FaultKind;

constexpr double kWorkUnitNs = 900'000.0;
constexpr double kWireNs = 250'000.0;
constexpr double kCallNs = 600.0;
constexpr int kMicroBatches = 6;
constexpr int kRounds = 7;
constexpr std::uint64_t kBytes = 3'000'000;
enum Region : RegionId { kSend = 1, kRecv, kSendrecv, kReduceScatter, kAllgather, kAllreduce };
enum Comm : CommId { kWorld = 0, kReplicas = 1 };

class Generator {
 public:
  explicit Generator(const Spec& spec)
      : spec_(spec),
        random_(spec.seed * 7919 + 13),
        count_(spec.is_chain ? spec.ranks : spec.pp * spec.dp) {
    now_.assign(static_cast<std::size_t>(count_), 1'000.0);
    calls_.resize(static_cast<std::size_t>(count_));
    choose_fault();
  }

  Run make() {
    double drift = 0.0;
    for (step_ = 0; step_ < spec_.steps; ++step_) {
      drift = 0.7 * drift + 0.01 * std::normal_distribution<double>()(random_);
      common_ = std::exp(drift);
      begin_step();
      if (spec_.is_chain)
        chain_step();
      else
        pipeline_step();
    }
    return finish();
  }

 private:
  bool is_host(int rank) const { return rank / spec_.ranks_per_host == where_; }
  // Pipeline fastest: rank = replica × stages + stage.
  int stage(int rank) const { return rank % spec_.pp; }
  int replica(int rank) const { return rank / spec_.pp; }
  int uniform(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  void choose_fault() {
    where_ = uniform(count_);
    if (spec_.kind == FaultKind::kSlowHost)
      where_ = uniform((count_ + spec_.ranks_per_host - 1) / spec_.ranks_per_host);
    if (spec_.kind == FaultKind::kStageImbalance) where_ = uniform(spec_.pp);
    if (spec_.kind == FaultKind::kInputImbalance) where_ = uniform(spec_.dp);
    if (spec_.kind == FaultKind::kSlowLink)
      where_ = spec_.is_chain ? uniform(count_ - 1)
                              : uniform(spec_.dp) * spec_.pp + uniform(spec_.pp - 1);
    const bool is_from_start = spec_.kind == FaultKind::kStageImbalance;
    const int onset = is_from_start ? 0 : 2 + uniform(std::max(1, spec_.steps / 4));
    const bool comes_and_goes = !is_from_start && uniform(4) == 0;
    std::bernoulli_distribution coin(0.4);
    is_active_.assign(static_cast<std::size_t>(spec_.steps), false);
    for (int step = onset; step < spec_.steps; ++step)
      is_active_[static_cast<std::size_t>(step)] = step == onset || !comes_and_goes ||
                                                   coin(random_);
    if (spec_.severity <= 0.0) is_active_.assign(static_cast<std::size_t>(spec_.steps), false);
  }

  void begin_step() {
    input_ = spec_.severity * std::exponential_distribution<double>(1.0)(random_);
    stall_work_unit_ = uniform(spec_.is_chain ? kRounds : 2 * kMicroBatches);
    work_unit_.assign(static_cast<std::size_t>(count_), 0);
    if (spec_.kind == FaultKind::kInputImbalance && is_on()) inputs_.push_back(input_);
  }
  bool is_on() const { return is_active_[static_cast<std::size_t>(step_)]; }

  double gamma() {
    const double shape = 1.0 / (spec_.noise * spec_.noise);
    return std::gamma_distribution<double>(shape, 1.0 / shape)(random_);
  }

  void work(int rank, double amount) {
    double factor = common_;
    const bool is_it = (spec_.kind == FaultKind::kSlowCompute && rank == where_) ||
                       (spec_.kind == FaultKind::kSlowHost && is_host(rank)) ||
                       (spec_.kind == FaultKind::kStageImbalance && stage(rank) == where_);
    if (is_on() && is_it) factor *= 1.0 + spec_.severity;
    if (is_on() && spec_.kind == FaultKind::kInputImbalance && replica(rank) == where_)
      factor *= 1.0 + input_;
    double time = 0.0;
    for (int i = 0; i < 4; ++i) time += 0.25 * kWorkUnitNs * amount * gamma();
    time *= factor;
    const int work_unit = work_unit_[static_cast<std::size_t>(rank)]++;
    if (is_on() && spec_.kind == FaultKind::kHostStall && rank == where_ &&
        work_unit == stall_work_unit_) {
      const double step_work = spec_.is_chain ? kRounds * kWorkUnitNs
                                              : 3.0 * kMicroBatches * kWorkUnitNs;
      time += spec_.severity * step_work;
    }
    now_[static_cast<std::size_t>(rank)] += time;
  }

  double wire(int from, int to) {
    const bool is_it = spec_.kind == FaultKind::kSlowLink && std::min(from, to) == where_ &&
                       std::max(from, to) == where_ + 1;
    return kWireNs * gamma() * (is_it && is_on() ? 1.0 + spec_.severity : 1.0);
  }

  void record(int rank, double enter, double leave, RegionId region, CommId comm,
              std::vector<Fact> facts) {
    MemorySource::OwnedCall owned;
    owned.call.enter_ns = static_cast<std::uint64_t>(enter);
    owned.call.leave_ns = static_cast<std::uint64_t>(leave);
    owned.call.region = region;
    owned.call.comm = comm;
    owned.facts = std::move(facts);
    calls_[static_cast<std::size_t>(rank)].push_back(std::move(owned));
    now_[static_cast<std::size_t>(rank)] = leave;
  }

  static Fact message(FactKind kind, int peer, int tag) {
    return {.kind = kind, .comm = kWorld, .peer = peer, .tag = tag, .bytes = kBytes};
  }

  /// Buffered: the sender goes on; when it arrives is returned.
  double send(int from, int to, int tag) {
    const double enter = now_[static_cast<std::size_t>(from)] + 200.0;
    record(from, enter, enter + kCallNs, kSend, kWorld, {message(FactKind::kSend, to, tag)});
    return enter + wire(from, to);
  }
  void receive(int rank, int from, int tag, double arrival) {
    const double enter = now_[static_cast<std::size_t>(rank)] + 200.0;
    record(rank, enter, std::max(enter + kCallNs, arrival), kRecv, kWorld,
           {message(FactKind::kRecv, from, tag)});
  }

  void reduce(const std::vector<int>& members, RegionId region, CommId comm, double duration) {
    double latest = 0.0;
    for (const int rank : members)
      latest = std::max(latest, now_[static_cast<std::size_t>(rank)] + 200.0);
    const std::uint32_t number = sequence_[{comm, members[0]}]++;
    for (const int rank : members) {
      record(rank, now_[static_cast<std::size_t>(rank)] + 200.0, latest + duration, region, comm,
             {{.kind = FactKind::kCollective,
               .comm = comm,
               .sequence = number,
               .bytes = kBytes,
               .bytes_received = kBytes}});
    }
  }

  void pipeline_step() {
    std::vector<std::vector<double>> arrivals(static_cast<std::size_t>(count_),
                                              std::vector<double>(kMicroBatches));
    for (int rank = 0; rank < count_; ++rank) {  // a stage's ranks come before the next one's
      for (int i = 0; i < kMicroBatches; ++i) {
        if (stage(rank) > 0)
          receive(rank, rank - 1, 1,
                  arrivals[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)]);
        work(rank, 1.0);
        if (stage(rank) + 1 < spec_.pp)
          arrivals[static_cast<std::size_t>(rank + 1)][static_cast<std::size_t>(i)] = send(
              rank, rank + 1, 1);
      }
    }
    for (int rank = count_ - 1; rank >= 0; --rank) {
      for (int i = 0; i < kMicroBatches; ++i) {
        if (stage(rank) + 1 < spec_.pp)
          receive(rank, rank + 1, 2,
                  arrivals[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)]);
        work(rank, 2.0);
        if (stage(rank) > 0)
          arrivals[static_cast<std::size_t>(rank - 1)][static_cast<std::size_t>(i)] = send(
              rank, rank - 1, 2);
      }
    }
    for (int at = 0; at < spec_.pp; ++at) {
      std::vector<int> members;
      for (int copy = 0; copy < spec_.dp; ++copy) members.push_back(copy * spec_.pp + at);
      reduce(members, kReduceScatter, kReplicas, 2e6);
      for (const int rank : members)
        now_[static_cast<std::size_t>(rank)] += 0.3 * kWorkUnitNs * gamma();
      reduce(members, kAllgather, kReplicas, 2e6);
    }
  }

  void exchange(int left, int right) {
    const double left_enter = now_[static_cast<std::size_t>(left)] + 200.0;
    const double right_enter = now_[static_cast<std::size_t>(right)] + 200.0;
    const double begin = std::max(left_enter, right_enter);
    const double to_right = begin + wire(left, right);
    const double to_left = begin + wire(right, left);
    const auto facts = [](int peer) {
      return std::vector<Fact>{message(FactKind::kSend, peer, 5),
                               message(FactKind::kRecv, peer, 5)};
    };
    record(left, left_enter, std::max(to_left, to_right), kSendrecv, kWorld, facts(right));
    record(right, right_enter, std::max(to_left, to_right), kSendrecv, kWorld, facts(left));
  }

  void chain_step() {
    for (int round = 0; round < kRounds; ++round) {
      for (int rank = 0; rank < count_; ++rank) work(rank, 1.0);
      for (int left = 0; left + 1 < count_; left += 2) exchange(left, left + 1);
      for (int left = 1; left + 1 < count_; left += 2) exchange(left, left + 1);
    }
    std::vector<int> all(static_cast<std::size_t>(count_));
    for (int rank = 0; rank < count_; ++rank) all[static_cast<std::size_t>(rank)] = rank;
    reduce(all, kAllreduce, kWorld, 3e4);
  }

  synth::TrueRootCause truth() const {
    synth::TrueRootCause root_cause;
    root_cause.kind = spec_.kind;
    std::set<std::string> hosts;
    for (int rank = 0; rank < count_; ++rank) {
      const bool is_it = spec_.kind == FaultKind::kSlowHost         ? is_host(rank)
                         : spec_.kind == FaultKind::kStageImbalance ? stage(rank) == where_
                         : spec_.kind == FaultKind::kInputImbalance ? replica(rank) == where_
                         : spec_.kind == FaultKind::kSlowLink ? rank == where_ || rank == where_ + 1
                                                              : rank == where_;
      if (!is_it) continue;
      root_cause.ranks.push_back(rank);
      hosts.insert("host" + std::to_string(rank / spec_.ranks_per_host));
    }
    root_cause.hosts.assign(hosts.begin(), hosts.end());
    double share = spec_.severity;
    for (const double input : inputs_)
      share += (input - spec_.severity) / static_cast<double>(inputs_.size());
    root_cause.factor = 1.0 + share;
    root_cause.onset_step = static_cast<std::int32_t>(
        std::find(is_active_.begin(), is_active_.end(), true) - is_active_.begin());
    for (int step = 0; step < spec_.steps; ++step) {
      if (is_active_[static_cast<std::size_t>(step)]) root_cause.last_step = step;
    }
    return root_cause;
  }

  Run finish() {
    auto source = std::make_unique<MemorySource>(count_);
    for (int rank = 0; rank < count_; ++rank) {
      MemorySource::Process process;
      process.definitions.info.world_rank = rank;
      process.definitions.info.world_size = count_;
      process.definitions.info.host = "host" + std::to_string(rank / spec_.ranks_per_host);
      const char* const names[] = {"MPI_Send",           "MPI_Recv",      "MPI_Sendrecv",
                                   "MPI_Reduce_scatter", "MPI_Allgather", "MPI_Allreduce"};
      for (std::size_t i = 0; i < std::size(names); ++i) {
        RegionDefinition region;
        region.id = static_cast<RegionId>(i + 1);
        region.name = names[i];
        process.definitions.regions.push_back(region);
      }
      CommDefinition world;
      world.id = kWorld;
      world.global_name = 1;
      world.kind = CommKind::kWorld;
      world.my_rank = rank;
      world.members = {{0, 1, count_}};
      process.definitions.comms.push_back(world);
      if (!spec_.is_chain) {
        CommDefinition replicas;
        replicas.id = kReplicas;
        replicas.parent = kWorld;
        replicas.global_name = 100 + static_cast<std::uint64_t>(stage(rank));
        replicas.my_rank = replica(rank);
        replicas.members = {{stage(rank), spec_.pp, spec_.dp}};
        process.definitions.comms.push_back(replicas);
      }
      process.definitions.locations = {
          {.id = 0, .name = "main thread", .system_thread_id = 1, .is_main = true}};
      process.locations.push_back(std::move(calls_[static_cast<std::size_t>(rank)]));
      source->add(std::move(process));
    }
    Run run;
    run.source = std::move(source);
    if (spec_.severity > 0.0) run.truth.push_back(truth());
    run.is_active = is_active_;
    return run;
  }

  Spec spec_;
  std::mt19937_64 random_;
  int count_;
  int step_ = 0;
  int where_ = 0;
  int stall_work_unit_ = 0;
  double common_ = 1.0;
  double input_ = 0.0;
  std::vector<double> inputs_;
  std::vector<bool> is_active_;
  std::vector<double> now_;
  std::vector<int> work_unit_;
  std::vector<std::vector<MemorySource::OwnedCall>> calls_;
  std::map<std::pair<CommId, int>, std::uint32_t> sequence_;
};

}  // namespace

Run make_run(const Spec& spec) { return Generator(spec).make(); }

}  // namespace megascope::second
