#include "analysis/segments/waits_source.h"

#include "analysis/detect/step_finder.h"
#include "core/base/hash.h"
#include "core/record/make_fact.h"

#include <algorithm>
#include <string>
#include <utility>

namespace megascope::segments {
namespace {

std::string name_of(const HiddenWaits::Operation& operation) {
  return operation.name.empty() ? std::string(kHiddenWaitName)
                                : "`" + operation.name + "` (synchronises inside)";
}

CommId world_of(const ProcessDefinitions& definitions) {
  const auto world = std::ranges::find(definitions.comms, CommKind::kWorld, &CommDefinition::kind);
  return world == definitions.comms.end() ? kNoComm : world->id;
}

}  // namespace

/// Merges a location's calls and its hidden waits, in order of entry.
class WaitsSource::Stream final : public CallStream {
 public:
  Stream(std::unique_ptr<CallStream> calls, const std::vector<HiddenWaits::Wait>& waits,
         const Process& process)
      : calls_(std::move(calls)), waits_(waits), process_(process) {}

  bool next(Call& call) override {
    if (!has_call_) has_call_ = calls_->next(call_);
    // An annotated region that begins at the same time encloses the wait, so it comes first.
    const bool is_wait = at_ < waits_.size() &&
                         (!has_call_ || call_.enter_ns > waits_[at_].begin_ns);
    if (is_wait) {
      call = next_wait();
      return true;
    }
    if (!has_call_) return false;
    call = call_;
    has_call_ = false;
    return true;
  }

 private:
  Call next_wait() {
    const HiddenWaits::Wait& wait = waits_[at_++];
    const CommId comm = process_.comms[wait.group];
    fact_ = collective_fact(comm, wait.sequence);
    Call call;
    call.enter_ns = wait.begin_ns;
    call.leave_ns = wait.end_ns;
    call.region = process_.regions[wait.operation];
    call.comm = comm;
    call.count = 0;
    call.facts = {&fact_, 1};
    return call;
  }

  std::unique_ptr<CallStream> calls_;
  const std::vector<HiddenWaits::Wait>& waits_;
  const Process& process_;
  std::size_t at_ = 0;
  Call call_;  ///< next call of the location
  bool has_call_ = false;
  Fact fact_;
};

WaitsSource::WaitsSource(const RecordSource& source, HiddenWaits waits)
    : source_(source), waits_(std::move(waits)) {
  for (std::size_t i = 0; i < source.world_ranks().size(); ++i) {
    Process& process = processes_.emplace_back();
    process.definitions = source.process(source.world_ranks()[i]);
    add_definitions(i, process);
  }
  std::vector<std::uint64_t> counts(waits_.groups.size());
  for (const std::vector<HiddenWaits::Wait>& all : waits_.processes) {
    for (const HiddenWaits::Wait& wait : all)
      counts[wait.group] = std::max<std::uint64_t>(counts[wait.group], wait.sequence + 1U);
  }
  for (const std::uint64_t count : counts) instance_count_ += count;
}

void WaitsSource::add_definitions(std::size_t process_index, Process& process) const {
  ProcessDefinitions& definitions = process.definitions;
  RegionId region = definitions.regions.empty() ? RegionId{1} : definitions.regions.back().id;
  for (const HiddenWaits::Operation& operation : waits_.operations) {
    process.regions.push_back(++region);
    definitions.regions.push_back({.id = region,
                                   .name = name_of(operation),
                                   .role = RegionRole::kCollOther,
                                   .paradigm = Paradigm::kMpi,
                                   .collective_op = CollectiveOp::kNone,
                                   .group = "hidden"});
  }
  const CommId world = world_of(definitions);
  for (const std::vector<std::uint32_t>& group : waits_.groups) {
    const auto me = std::ranges::find(group, static_cast<std::uint32_t>(process_index));
    if (me == group.end()) {
      process.comms.push_back(kNoComm);
      continue;
    }
    std::vector<std::int32_t> ranks;
    std::uint64_t name = hash_of("ranks that synchronise between MPI calls");
    for (const std::uint32_t member : group) {
      ranks.push_back(source_.world_ranks()[member]);
      name = combined(name, static_cast<std::uint64_t>(ranks.back()));
    }
    const auto id = static_cast<CommId>(definitions.comms.size());
    process.comms.push_back(id);
    definitions.comms.push_back({.id = id,
                                 .parent = world,
                                 .global_name = not_zero(name),
                                 .kind = CommKind::kIntra,
                                 .name = "ranks that synchronise between MPI calls",
                                 .my_rank = static_cast<std::int32_t>(me - group.begin()),
                                 .members = compress(ranks),
                                 .remote_members = {}});
  }
}

std::size_t WaitsSource::index_of(std::int32_t world_rank) const {
  const std::vector<std::int32_t>& ranks = source_.world_ranks();
  return static_cast<std::size_t>(std::ranges::lower_bound(ranks, world_rank) - ranks.begin());
}

std::unique_ptr<CallStream> WaitsSource::calls(std::int32_t world_rank, LocationId location) const {
  const Process& process = processes_[index_of(world_rank)];
  std::unique_ptr<CallStream> calls = source_.calls(world_rank, location);
  if (location != detect::judged_location(process.definitions)) return calls;
  return std::make_unique<Stream>(std::move(calls), waits_.processes[index_of(world_rank)],
                                  process);
}

}  // namespace megascope::segments
