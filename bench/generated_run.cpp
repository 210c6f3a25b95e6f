#include "bench/generated_run.h"

#include <string>

namespace megascope::bench {
namespace {

constexpr CommId kWorld = 0;
constexpr std::int32_t kTag = 1017;
constexpr std::uint64_t kBytes = 65'536;
enum Region : RegionId {
  kIrecv = 1,
  kIsend,
  kWaitall,
  kAllreduce,
  kSend,
  kRecv,
  kBcast,
  kCommRank
};
constexpr std::array<const char*, 8> kRegions{"MPI_Irecv",     "MPI_Isend",    "MPI_Waitall",
                                              "MPI_Allreduce", "MPI_Send",     "MPI_Recv",
                                              "MPI_Bcast",     "MPI_Comm_rank"};
constexpr std::array<const char*, 8> kGroups{"p2p", "p2p", "p2p",  "coll",
                                             "p2p", "p2p", "coll", "comm"};

struct Step {
  RegionId region;
  std::uint64_t duration_ns;
};
constexpr std::array<Step, 6> kHaloSteps{{{kIrecv, 310},
                                          {kIrecv, 240},
                                          {kIsend, 820},
                                          {kIsend, 610},
                                          {kWaitall, 14'500},
                                          {kAllreduce, 9'200}}};
constexpr std::array<Step, 3> kBlockingSteps{{{kSend, 1'150}, {kRecv, 4'020}, {kBcast, 2'870}}};

std::vector<Step> steps_of(GeneratedRun::Kind kind) {
  std::vector<Step> steps;
  if (kind != GeneratedRun::Kind::kBlocking)
    steps.insert(steps.end(), kHaloSteps.begin(), kHaloSteps.end());
  if (kind != GeneratedRun::Kind::kHalo)
    steps.insert(steps.end(), kBlockingSteps.begin(), kBlockingSteps.end());
  if (kind == GeneratedRun::Kind::kMixed) steps.insert(steps.end(), 3, Step{kCommRank, 45});
  return steps;
}

class Stream final : public CallStream {
 public:
  Stream(std::vector<Step> steps, std::uint64_t round_count, std::int32_t next,
         std::int32_t previous)
      : steps_(std::move(steps)), round_count_(round_count), peers_{next, previous} {}

  bool next(Call& call) override {
    if (step_ == steps_.size()) {
      step_ = 0;
      ++round_;
    }
    if (round_ == round_count_) return false;
    const Step& step = steps_[step_++];
    time_ns_ += 150 + (round_ * 37 + step_ * 101) % 900;
    call = {.enter_ns = time_ns_,
            .leave_ns = time_ns_ + step.duration_ns,
            .region = step.region,
            .facts = {}};
    time_ns_ = call.leave_ns;
    describe(call);
    return true;
  }

 private:
  void describe(Call& call) {
    std::size_t count = 1;
    call.comm = call.region == kWaitall ? kNoComm : kWorld;
    switch (call.region) {
      case kIrecv:
        facts_[0] = message(FactKind::kRecvRequest, 1 + (step_ & 1), peers_[step_ & 1]);
        break;
      case kIsend:
        facts_[0] = message(FactKind::kSendRequest, 3 + (step_ & 1), peers_[1 - (step_ & 1)]);
        break;
      case kWaitall:
        facts_ = {message(FactKind::kRecvComplete, 1, peers_[0]),
                  message(FactKind::kRecvComplete, 2, peers_[1]),
                  message(FactKind::kSendComplete, 3, 0), message(FactKind::kSendComplete, 4, 0)};
        count = facts_.size();
        break;
      case kSend:
        facts_[0] = message(FactKind::kSend, 0, peers_[0]);
        break;
      case kRecv:
        facts_[0] = message(FactKind::kRecv, 0, peers_[1]);
        break;
      case kAllreduce:
        facts_[0] = collective(kNoPeer);
        break;
      case kBcast:
        facts_[0] = collective(0);
        break;
      default:
        count = 0;
        break;
    }
    call.facts = std::span(facts_).first(count);
  }
  static Fact message(FactKind kind, std::size_t request, std::int32_t peer) {
    return {.kind = kind,
            .comm = kWorld,
            .request = static_cast<RequestId>(request),
            .peer = peer,
            .tag = kTag,
            .bytes = kBytes};
  }
  Fact collective(std::int32_t root) {
    return {.kind = FactKind::kCollective,
            .comm = kWorld,
            .sequence = sequence_++,
            .peer = root,
            .bytes = 64,
            .bytes_received = 64};
  }

  std::vector<Step> steps_;
  std::uint64_t round_count_;
  std::array<std::int32_t, 2> peers_;
  std::array<Fact, 4> facts_;
  std::uint64_t round_ = 0;
  std::size_t step_ = 0;
  std::uint64_t time_ns_ = 0;
  std::uint32_t sequence_ = 0;
};

}  // namespace

GeneratedRun::GeneratedRun(Kind kind, std::int32_t world_size, std::int32_t first,
                           std::int32_t count, std::uint64_t round_count)
    : kind_(kind), world_size_(world_size), round_count_(round_count) {
  for (std::int32_t rank = first; rank < first + count; ++rank) {
    ranks_.push_back(rank);
    ProcessDefinitions process;
    process.info.world_rank = rank;
    process.info.world_size = world_size;
    process.info.host = "node";
    for (std::size_t i = 0; i < kRegions.size(); ++i) {
      RegionDefinition region;
      region.id = static_cast<RegionId>(i + 1);
      region.name = kRegions[i];
      region.group = kGroups[i];
      process.regions.push_back(region);
    }
    CommDefinition world;
    world.id = kWorld;
    world.global_name = 0x5EED;
    world.kind = CommKind::kWorld;
    world.name = "MPI_COMM_WORLD";
    world.my_rank = rank;
    world.members = {{0, 1, world_size}};
    process.comms.push_back(world);
    process.locations.push_back(
        {.id = 0, .name = "main thread", .system_thread_id = 1, .is_main = true});
    processes_.push_back(std::move(process));
  }
}

std::unique_ptr<CallStream> GeneratedRun::calls(std::int32_t rank, LocationId) const {
  return std::make_unique<Stream>(steps_of(kind_), round_count_, (rank + 1) % world_size_,
                                  (rank + world_size_ - 1) % world_size_);
}

std::uint64_t GeneratedRun::call_count() const { return round_count_ * steps_of(kind_).size(); }

}  // namespace megascope::bench
