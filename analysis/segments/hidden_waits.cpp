#include "analysis/segments/hidden_waits.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace megascope::segments {
namespace {

constexpr std::size_t kProbeSteps = 40;
constexpr std::size_t kMaxProbeSegments = std::size_t{1} << 20;  ///< summed over all ranks
constexpr std::size_t kMaxSegments = std::size_t{1} << 22;       ///< summed over all ranks
constexpr std::size_t kMinExecutions = 12;  ///< of one kind, summed over all ranks
constexpr double kMinWaitShare = 2e-3;      ///< fraction of all work; kinds that take less, or wait
                                            ///< less, are ignored
constexpr std::uint32_t kGapName = 0;       ///< GapRun::run.names
constexpr const char* kMember = "member";

using Kinds = std::unordered_set<std::uint64_t>;

template <class Wanted>
RegionRun only(const RegionRun& run, const Wanted& is_wanted) {
  RegionRun result;
  result.names = run.names;
  for (const std::vector<Segment>& segments : run.processes) {
    std::vector<Segment>& kept = result.processes.emplace_back();
    std::ranges::copy_if(segments, std::back_inserter(kept), is_wanted);
  }
  return result;
}

double length_ns(const Segment& segment) {
  return static_cast<double>(segment.end_ns - segment.begin_ns);
}

double work_ns(const RegionRun& run) {
  double sum = 0.0;
  for (const std::vector<Segment>& segments : run.processes) {
    for (const Segment& segment : segments) sum += segment.is_work ? length_ns(segment) : 0.0;
  }
  return sum;
}

/// Returns the segments whose kind recurs and takes enough time.
RegionRun worth_a_look(const RegionRun& run, double all_work_ns) {
  struct Sum {
    std::size_t count = 0;
    double time_ns = 0.0;
  };
  std::unordered_map<std::uint64_t, Sum> sums;
  for (const std::vector<Segment>& segments : run.processes) {
    for (const Segment& segment : segments) {
      Sum& sum = sums[segment.kind];
      ++sum.count;
      sum.time_ns += length_ns(segment);
    }
  }
  return only(run, [&](const Segment& segment) {
    const Sum& sum = sums.at(segment.kind);
    return sum.count >= kMinExecutions && sum.time_ns >= kMinWaitShare * all_work_ns;
  });
}

/// Returns coordinates in which processes with the same value are one group.
Coordinates members_by(const std::vector<std::int64_t>& values) {
  std::map<std::int64_t, std::int32_t> index_of;
  std::map<std::int64_t, std::int32_t> count_of;
  Coordinates coordinates;
  for (const std::int64_t value : values) {
    const auto index = static_cast<std::int32_t>(index_of.size());
    coordinates["group"].push_back(index_of.try_emplace(value, index).first->second);
    coordinates[kMember].push_back(count_of[value]++);
  }
  return coordinates;
}

/// Returns the divisions of the ranks to try if no groups were specified.
std::vector<Coordinates> divisions_of(const RecordSource& source,
                                      const std::vector<std::uint64_t>& sequences) {
  std::set<std::vector<std::int64_t>> seen;
  std::vector<Coordinates> divisions;
  const auto add = [&](const std::vector<std::int64_t>& values) {
    const Coordinates coordinates = members_by(values);
    const std::vector<std::int32_t>& groups = coordinates.at("group");
    const bool is_new = seen.insert({groups.begin(), groups.end()}).second;
    const std::vector<std::int32_t>& members = coordinates.at(kMember);
    const bool has_groups = std::ranges::any_of(members, [](std::int32_t i) { return i > 0; });
    if (is_new && has_groups) divisions.push_back(coordinates);
  };
  std::vector<std::int64_t> values;
  for (const std::uint64_t sequence : sequences)
    values.push_back(static_cast<std::int64_t>(sequence));
  add(values);
  std::size_t comm_count = 0;
  for (const std::int32_t rank : source.world_ranks())
    comm_count = std::max(comm_count, source.process(rank).comms.size());
  constexpr std::size_t kMaxComms = 16;
  for (std::size_t id = 0; id < std::min(comm_count, kMaxComms); ++id) {
    values.clear();
    for (const std::int32_t rank : source.world_ranks()) {
      const CommDefinition* comm = source.process(rank).comm(static_cast<CommId>(id));
      const bool is_group = comm != nullptr && comm->kind == CommKind::kIntra;
      values.push_back(is_group ? static_cast<std::int64_t>(comm->global_name) : -1 - rank);
    }
    add(values);
  }
  values.clear();
  std::map<std::string, std::int64_t> hosts;
  for (const std::int32_t rank : source.world_ranks()) {
    const auto next = static_cast<std::int64_t>(hosts.size());
    values.push_back(hosts.try_emplace(source.process(rank).info.host, next).first->second);
  }
  add(values);
  return divisions;
}

/// A division of the ranks, and the kinds of segments that wait in it.
struct Found {
  Coordinates coordinates;
  Kinds kinds;
};

class Finder {
 public:
  Finder(const RecordSource& source, const GapSteps& steps, const Coordinates& specified)
      : source_(source), steps_(steps), specified_(specified) {}

  HiddenWaits find() {
    probe();
    if (found_.empty()) return {};
    Kinds all;
    for (const Found& found : found_) all.insert(found.kinds.begin(), found.kinds.end());
    const std::size_t ranks = source_.world_ranks().size();
    const GapRun gaps = read_gaps(source_, steps_, {SIZE_MAX, kMaxSegments / ranks, &all});
    waits_.is_too_long = gaps.is_cut;
    if (gaps.is_cut) return std::move(waits_);
    waits_.processes.resize(ranks);
    for (const Found& found : found_) add_waits(gaps.run, found);
    finish();
    return std::move(waits_);
  }

 private:
  bool is_wanted(const HiddenSync::Operation& operation) const {
    return !specified_.empty() || operation.dimensions == std::vector<std::string>{kMember};
  }

  void probe() {
    const std::size_t ranks = source_.world_ranks().size();
    if (ranks < 2) return;
    const GapRun gaps = read_gaps(source_, steps_,
                                  {kProbeSteps, kMaxProbeSegments / ranks, nullptr});
    work_ns_ = work_ns(gaps.run);
    RegionRun run = worth_a_look(gaps.run, work_ns_);
    const std::vector<Coordinates> divisions = specified_.empty()
                                                   ? divisions_of(source_, gaps.sequences)
                                                   : std::vector<Coordinates>{specified_};
    for (const Coordinates& coordinates : divisions) {
      const Kinds kinds = kinds_that_wait(run, coordinates);
      if (kinds.empty()) continue;
      run = only(run, [&kinds](const Segment& segment) { return !kinds.contains(segment.kind); });
      found_.push_back({coordinates, kinds});
    }
  }

  Kinds kinds_that_wait(const RegionRun& run, const Coordinates& coordinates) const {
    const HiddenSync hidden = find_hidden_sync(run, coordinates, kRule);
    std::unordered_map<std::uint64_t, double> waits_ns;
    for (const HiddenSync::Instance& instance : hidden.instances) {
      if (!is_wanted(hidden.operations[instance.operation])) continue;
      for (const SegmentRef& member : hidden.members_of(instance)) {
        const Segment& segment = run.processes[member.process][member.segment];
        waits_ns[segment.kind] += length_ns(segment) - static_cast<double>(instance.work_ns);
      }
    }
    Kinds kinds;
    for (const auto& [kind, time_ns] : waits_ns) {
      if (time_ns >= kMinWaitShare * work_ns_) kinds.insert(kind);
    }
    return kinds;
  }

  void add_waits(const RegionRun& all, const Found& found) {
    const RegionRun run = only(
        all, [&found](const Segment& segment) { return found.kinds.contains(segment.kind); });
    const HiddenSync hidden = find_hidden_sync(run, found.coordinates, kRule);
    for (const HiddenSync::Instance& instance : hidden.instances) {
      const HiddenSync::Operation& operation = hidden.operations[instance.operation];
      if (!is_wanted(operation)) continue;
      const bool is_gap = operation.name == kGapName;
      add_instance(run, hidden, instance, operation_of(is_gap ? "" : run.names[operation.name]));
    }
  }

  std::uint32_t operation_of(const std::string& name) {
    const auto same = std::ranges::find(waits_.operations, name, &HiddenWaits::Operation::name);
    if (same == waits_.operations.end()) waits_.operations.push_back({name});
    return static_cast<std::uint32_t>(
        std::ranges::find(waits_.operations, name, &HiddenWaits::Operation::name) -
        waits_.operations.begin());
  }

  std::uint32_t group_of(std::vector<std::uint32_t> processes) {
    const auto next = static_cast<std::uint32_t>(waits_.groups.size());
    const auto [at, is_new] = group_index_.try_emplace(processes, next);
    if (is_new) waits_.groups.push_back(std::move(processes));
    return at->second;
  }

  /// Returns, by member, how far its clock is ahead of the first member's: the median difference of
  /// their ends, which happen at one moment. Differences below 50 µs count as 0: the time until a
  /// rank sees a flag is no clock error.
  std::vector<std::int64_t> clock_offsets_ns(const RegionRun& run, const HiddenSync& hidden,
                                             const std::vector<std::uint32_t>& processes) const {
    constexpr double kSeenNs = 50'000.0;
    std::vector<std::vector<double>> differences(processes.size());
    for (const HiddenSync::Instance& instance : hidden.instances) {
      const auto members = hidden.members_of(instance);
      if (!std::ranges::equal(members, processes, {}, &SegmentRef::process)) continue;
      const auto end_of = [&run](const SegmentRef& member) {
        return static_cast<double>(run.processes[member.process][member.segment].end_ns);
      };
      for (std::size_t m = 0; m < members.size(); ++m)
        differences[m].push_back(end_of(members[m]) - end_of(members[0]));
    }
    std::vector<std::int64_t> offsets;
    for (std::vector<double>& of_member : differences) {
      const double offset = of_member.empty() ? 0.0 : detect::median(of_member);
      offsets.push_back(std::fabs(offset) < kSeenNs ? 0 : static_cast<std::int64_t>(offset));
    }
    return offsets;
  }

  /// Adds one wait a member: from its begin until the last member has begun.
  void add_instance(const RegionRun& run, const HiddenSync& hidden,
                    const HiddenSync::Instance& instance, std::uint32_t operation) {
    std::vector<std::uint32_t> processes;
    for (const SegmentRef& member : hidden.members_of(instance))
      processes.push_back(member.process);
    const auto [known, is_new] = offsets_.try_emplace(processes);
    if (is_new) known->second = clock_offsets_ns(run, hidden, processes);
    const std::vector<std::int64_t>& offsets = known->second;
    const auto shifted = [](std::uint64_t time_ns, std::int64_t by_ns) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(time_ns) + by_ns);
    };
    std::uint64_t latest_ns = 0;  // on the first member's clock
    for (std::size_t m = 0; m < instance.count; ++m) {
      const SegmentRef& member = hidden.members_of(instance)[m];
      const Segment& segment = run.processes[member.process][member.segment];
      latest_ns = std::max(latest_ns, shifted(segment.begin_ns, -offsets[m]));
    }
    const std::uint32_t group = group_of(std::move(processes));
    const auto number = static_cast<std::uint32_t>(instance_times_.size());
    instance_times_.push_back({group, latest_ns});
    for (std::size_t m = 0; m < instance.count; ++m) {
      const SegmentRef& member = hidden.members_of(instance)[m];
      const Segment& segment = run.processes[member.process][member.segment];
      const std::uint64_t end_ns = std::max(
          segment.end_ns - instance.work_ns,
          std::min(shifted(latest_ns, offsets[m]), segment.end_ns));
      waits_.processes[member.process].push_back(
          {segment.begin_ns, std::max(segment.begin_ns, end_ns), operation, group, number});
      HiddenWaits::Operation& sums = waits_.operations[operation];
      sums.time_ns += length_ns(segment);
      sums.wait_ns += length_ns(segment) - static_cast<double>(instance.work_ns);
    }
  }

  /// Numbers the instances of each group in order of time, and sorts the waits.
  void finish() {
    std::vector<std::uint32_t> order(instance_times_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [this](std::uint32_t i) { return instance_times_[i]; });
    std::vector<std::uint32_t> sequence(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool is_first = i == 0 ||
                            instance_times_[order[i]].first != instance_times_[order[i - 1]].first;
      sequence[order[i]] = is_first ? 0 : sequence[order[i - 1]] + 1;
    }
    for (std::vector<HiddenWaits::Wait>& waits : waits_.processes) {
      for (HiddenWaits::Wait& wait : waits) wait.sequence = sequence[wait.sequence];
      std::ranges::stable_sort(waits, {}, &HiddenWaits::Wait::begin_ns);
    }
  }

  static constexpr SyncRule kRule{.needs_apart_begins = true, .unnamed = kGapName};

  const RecordSource& source_;
  const GapSteps& steps_;
  const Coordinates& specified_;
  double work_ns_ = 0.0;  ///< of the steps that probe() read
  std::vector<Found> found_;
  HiddenWaits waits_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> group_index_;
  std::map<std::vector<std::uint32_t>, std::vector<std::int64_t>>
      offsets_;  ///< clock offsets, by group
  /// By instance: group, and begin of its last member.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> instance_times_;
};

}  // namespace

HiddenWaits find_hidden_waits(const RecordSource& source, const GapSteps& steps,
                              const Coordinates& specified) {
  return Finder(source, steps, specified).find();
}

}  // namespace megascope::segments
