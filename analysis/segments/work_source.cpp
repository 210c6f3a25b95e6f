#include "analysis/segments/work_source.h"

#include "core/record/make_fact.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace megascope::segments {
namespace {

constexpr std::uint64_t
    kMaxOverlap = 10;  ///< largest overlap of two steps: this fraction (1/n) of a step
constexpr RegionId kFreeRegion = 1;
/// A call without facts would count as set-up of the program, so these calls have one.
const Fact kFree = local_bytes_fact(0);

constexpr std::uint64_t kWhole = ~std::uint64_t{0};

}  // namespace

/// The steps of one process. work_of(segment): how many ns at the end of a segment count as work;
/// kWhole: all of it.
class WorkSource::StepWork {
 public:
  template <class WorkOf>
  StepWork(const std::vector<Segment>& segments, const WorkOf& work_of) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < segments.size(); ++i) {
      const bool is_empty = !segments[i].is_work ||
                            segments[i].begin_ns ==
                                segments[i]
                                    .end_ns;  // a receive of the next step may begin in this step
      if (!is_empty) order.push_back(i);
    }
    const auto key = [&segments](std::uint32_t i) {
      return std::tuple(segments[i].step, segments[i].begin_ns, segments[i].end_ns, i);
    };
    std::sort(order.begin(), order.end(),
              [&key](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    for (const std::uint32_t i : order) add(segments[i], work_of(i));
  }
  std::vector<Step> take() { return std::move(steps_); }

 private:
  void add(const Segment& segment, std::uint64_t work_ns) {
    if (steps_.empty() || steps_.back().number != segment.step)
      steps_.push_back({segment.step, segment.begin_ns, segment.end_ns, {}});
    Step& step = steps_.back();
    step.end_ns = std::max(step.end_ns, segment.end_ns);
    if (work_ns == 0) return;
    const std::uint64_t from_ns = work_ns == kWhole
                                      ? segment.begin_ns
                                      : std::max(
                                            segment.begin_ns,
                                            segment.end_ns - std::min(work_ns, segment.end_ns));
    if (segment.continues && !step.work.empty() &&
        step.work.back().end_ns == from_ns) {  // the operation that cut it took no time
      step.work.back().end_ns = segment.end_ns;
      return;
    }
    // Work on two streams at once counts once.
    const std::uint64_t begin_ns = step.work.empty() ? from_ns
                                                     : std::max(from_ns, step.work.back().end_ns);
    if (begin_ns < segment.end_ns) step.work.push_back({begin_ns, segment.end_ns});
  }

  std::vector<Step> steps_;
};

class FreeTimeStream final : public CallStream {
 public:
  explicit FreeTimeStream(const std::vector<WorkSource::Interval>& free) : free_(free) {}
  bool next(Call& call) override {
    if (at_ == free_.size()) return false;
    call = {};
    call.enter_ns = free_[at_].begin_ns;
    call.leave_ns = free_[at_++].end_ns;
    call.region = kFreeRegion;
    call.facts = {&kFree, 1};
    return true;
  }

 private:
  const std::vector<WorkSource::Interval>& free_;
  std::size_t at_ = 0;
};

void WorkSource::add_worker(std::int32_t world_rank, std::vector<std::int32_t> members) {
  Worker& worker = workers_.emplace_back();
  worker.definitions.info = source_.process(world_rank).info;
  worker.definitions.regions.push_back({.id = kFreeRegion,
                                        .name = "no operation",
                                        .role = RegionRole::kUnknown,
                                        .paradigm = Paradigm::kUser,
                                        .collective_op = CollectiveOp::kNone,
                                        .group = ""});
  LocationDefinition location;
  location.is_main = true;
  worker.definitions.locations.push_back(location);
  world_ranks_.push_back(world_rank);
  members_.push_back(std::move(members));
}

WorkSource::WorkSource(const RecordSource& source, const RegionRun& run, const HiddenSync& hidden)
    : source_(source) {
  std::vector<std::vector<Step>> steps;
  for (std::size_t i = 0; i < run.processes.size(); ++i) {
    const std::int32_t rank = source.world_ranks()[i];
    add_worker(rank, {rank});
    steps.push_back(StepWork(run.processes[i], [&](std::size_t segment) {
                      return hidden.instance(i, segment) == kNoInstance ? kWhole : 0;
                    }).take());
  }
  keep_common(steps);
  for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i].free = free_time(steps[i]);
}

WorkSource::WorkSource(const WorkSource& own, const RegionRun& run, const HiddenSync& hidden,
                       const std::vector<std::string>& dimensions)
    : source_(own.source_), step_numbers_(own.step_numbers_) {
  std::map<std::uint32_t, std::vector<std::int32_t>> groups;  // by lowest process
  for (const HiddenSync::Instance& instance : hidden.instances) {
    if (hidden.operations[instance.operation].dimensions != dimensions) continue;
    std::vector<std::int32_t>& members = groups[hidden.members_of(instance)[0].process];
    if (!members.empty()) continue;
    for (const SegmentRef& member : hidden.members_of(instance))
      members.push_back(source_.world_ranks()[member.process]);
  }
  for (const auto& [process, members] : groups) {
    add_worker(source_.world_ranks()[process], members);
    const auto work_of = [&, at = process](std::size_t segment) -> std::uint64_t {
      const std::uint32_t instance = hidden.instance(at, segment);
      const bool is_wanted = instance != kNoInstance &&
                             hidden.operations[hidden.instances[instance].operation].dimensions ==
                                 dimensions;
      return is_wanted ? hidden.instances[instance].work_ns : 0;
    };
    const std::vector<Step> steps = StepWork(run.processes[process], work_of).take();
    step_ends_ns_.push_back(own.step_ends_ns_[process]);
    workers_.back().free = free_time(steps);
  }
}

std::size_t WorkSource::index_of(std::int32_t world_rank) const {
  return static_cast<std::size_t>(
      std::lower_bound(world_ranks_.begin(), world_ranks_.end(), world_rank) -
      world_ranks_.begin());
}

/// Keeps the steps that all ranks have. A step whose work begins long before the previous one's
/// work has ended cannot be judged separately.
void WorkSource::keep_common(const std::vector<std::vector<Step>>& steps) {
  std::map<std::int64_t, std::size_t> counts;
  for (const std::vector<Step>& of_rank : steps) {
    std::uint64_t last_end_ns = 0;
    for (const Step& step : of_rank) {
      if (step.begin_ns + (step.end_ns - step.begin_ns) / kMaxOverlap < last_end_ns) continue;
      last_end_ns = step.end_ns;
      ++counts[step.number];
    }
  }
  for (const auto& [number, count] : counts) {
    if (count == steps.size()) step_numbers_.push_back(number);
  }
  for (const std::vector<Step>& of_rank : steps) {
    std::vector<std::uint64_t>& ends = step_ends_ns_.emplace_back();
    for (const Step& step : of_rank) {
      if (std::binary_search(step_numbers_.begin(), step_numbers_.end(), step.number))
        ends.push_back(step.end_ns);
    }
  }
}

std::vector<WorkSource::Interval> WorkSource::free_time(const std::vector<Step>& steps) const {
  std::vector<Interval> free;
  std::uint64_t now_ns = 0;
  for (const Step& step : steps) {
    if (!std::binary_search(step_numbers_.begin(), step_numbers_.end(), step.number)) continue;
    if (now_ns == 0) now_ns = step.begin_ns;
    for (const Interval& work : step.work) {
      free.push_back({now_ns, std::max(now_ns, work.begin_ns)});
      now_ns = std::max(now_ns, work.end_ns);
    }
    free.push_back({now_ns, std::max(now_ns, step.end_ns)});  // ends the step
    now_ns = std::max(now_ns, step.end_ns);
  }
  return free;
}

std::unique_ptr<CallStream> WorkSource::calls(std::int32_t world_rank, LocationId) const {
  return std::make_unique<FreeTimeStream>(workers_[index_of(world_rank)].free);
}

}  // namespace megascope::segments
