#include "analysis/segments/hidden_sync.h"

#include "analysis/detect/statistics.h"
#include "analysis/segments/together.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

namespace megascope::segments {
namespace {

constexpr double kMinShare = 5e-4;  ///< fraction of all work; kinds that take less are ignored
constexpr std::size_t kMinInstances = 12;  ///< over all groups
constexpr double kTogether = 0.3;  ///< times the distance that independent work would have: closer
                                   ///< ends are common ends
constexpr double kOfVariation = 0.6;  ///< times the variation of the begins: ends of independent
                                      ///< work vary at least as much as its begins
constexpr double
    kClockMargin = 3.0;          ///< times the constant clock differences that communication shows
constexpr double kFarOff = 0.5;  ///< times that distance: if ends are further apart, the execution
                                 ///< did not synchronise
/// fraction of all instances, if not most of them synchronise; independent work ends together in a
/// few per cent
constexpr double kMinAtOnce = 0.2;
constexpr const char* kPipeline = "pp";  ///< its members do different work

using Group = std::vector<std::uint32_t>;  ///< processes, ascending

/// All executions of one kind of segment.
struct Kind {
  std::uint64_t kind = 0;
  std::uint32_t name = 0;
  bool is_work = true;
  double total_ns = 0.0;
  std::vector<std::vector<Execution>> processes;
};

std::vector<Kind> kinds_of(const RegionRun& run) {
  std::unordered_map<std::uint64_t, std::size_t> index;
  std::vector<Kind> kinds;
  for (std::uint32_t process = 0; process < run.processes.size(); ++process) {
    const std::vector<Segment>& segments = run.processes[process];
    for (std::uint32_t i = 0; i < segments.size(); ++i) {
      const Segment& segment = segments[i];
      const auto [at, is_new] = index.try_emplace(segment.kind, kinds.size());
      if (is_new)
        kinds.push_back({segment.kind, segment.name, segment.is_work, 0.0,
                         std::vector<std::vector<Execution>>(run.processes.size())});
      Kind& kind = kinds[at->second];
      kind.total_ns += static_cast<double>(segment.end_ns - segment.begin_ns);
      kind.processes[process].push_back({segment.step, segment.begin_ns, segment.end_ns, i});
    }
  }
  for (Kind& kind : kinds) {
    for (auto& executions : kind.processes) {
      std::sort(executions.begin(), executions.end(), [](const Execution& a, const Execution& b) {
        return std::tuple(a.step, a.begin_ns, a.end_ns) < std::tuple(b.step, b.begin_ns, b.end_ns);
      });
    }
  }
  return kinds;
}

/// Returns the groups of two or more processes that differ only in the given dimensions.
std::vector<Group> groups_over(const std::set<std::string>& dimensions,
                               const Coordinates& coordinates, std::size_t count) {
  std::map<std::vector<std::int32_t>, Group> by_others;
  for (std::uint32_t process = 0; process < count; ++process) {
    std::vector<std::int32_t> others;
    for (const auto& [name, indices] : coordinates) {
      if (!dimensions.contains(name)) others.push_back(indices[process]);
    }
    by_others[others].push_back(process);
  }
  std::vector<Group> groups;
  for (auto& [others, group] : by_others) {
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

/// Returns pairs of processes in different groups that do the same work: neighbours in one other
/// dimension, except in "pp".
std::vector<std::pair<std::uint32_t, std::uint32_t>> unrelated_pairs(const std::string& dimension,
                                                                     const Coordinates& coordinates,
                                                                     std::size_t count) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const auto& entry : coordinates) {
    const std::string& other = entry.first;
    if (other == dimension || other == kPipeline) continue;
    for (const Group& group : groups_over({other}, coordinates, count)) {
      for (std::size_t i = 0; i + 1 < group.size(); ++i) pairs.emplace_back(group[i], group[i + 1]);
    }
  }
  return pairs;
}

std::vector<Executions> members_of(const Kind& kind, const Group& group) {
  std::vector<Executions> members;
  for (const std::uint32_t process : group) members.emplace_back(kind.processes[process]);
  return members;
}

class Finder {
 public:
  Finder(const RegionRun& run, const Coordinates& coordinates, const SyncRule& rule)
      : run_(run), coordinates_(coordinates), rule_(rule), kinds_(kinds_of(run)) {
    for (const Kind& kind : kinds_) work_ns_ += kind.is_work ? kind.total_ns : 0.0;
  }

  HiddenSync find() {
    std::vector<std::string> dimensions;
    for (const auto& entry : coordinates_) dimensions.push_back(entry.first);
    if (dimensions.empty()) dimensions.emplace_back("all");
    for (const std::string& dimension : dimensions) {
      find_clock_error(dimension);
      for (const Kind& kind : kinds_) {
        if (!kind.is_work || kind.total_ns < kMinShare * work_ns_) continue;
        if (is_together(kind, dimension))
          dimensions_of_[&kind].insert(dimension);
        else if (rule_.needs_apart_begins && is_sometimes_at_once(kind, dimension))
          sometimes_[&kind].insert(dimension);
      }
    }
    for (const Kind& kind : kinds_) {
      const auto found = dimensions_of_.find(&kind);
      const auto sometimes = sometimes_.find(&kind);
      if (found != dimensions_of_.end())
        add_instances(kind, found->second, false);
      else if (sometimes != sometimes_.end())
        add_instances(kind, sometimes->second, true);
    }
    return std::move(result_);
  }

 private:
  /// Medians over all groups of a dimension. scale_ns: how far apart the ends would be if the work
  /// were independent.
  struct Distance {
    double end_ns = 0.0;
    double varying_begin_ns = 0.0;
    double scale_ns = 0.0;
    double constant_ns = 0.0;
    double raw_end_ns = 0.0;
    std::size_t instances = 0;
  };
  Distance distance_over(const Kind& kind, const std::string& dimension) const {
    std::vector<Executions> all;
    std::vector<double> begins;
    std::vector<double> varying_begins;
    std::vector<double> ends;
    std::vector<double> constants;
    std::vector<double> raw_ends;
    Distance distance;
    for (const Group& group : groups_over({dimension}, coordinates_, run_.processes.size())) {
      const std::vector<Executions> members = members_of(kind, group);
      const Apart apart = distances(common_executions(members));
      if (apart.instances == 0) continue;
      all.insert(all.end(), members.begin(), members.end());
      distance.instances += apart.instances;
      begins.push_back(apart.begin_ns);
      varying_begins.push_back(apart.varying_begin_ns);
      ends.push_back(apart.end_ns);
      constants.push_back(apart.constant_ns);
      raw_ends.push_back(apart.raw_end_ns);
    }
    if (ends.empty()) return distance;
    distance.end_ns = detect::median(ends);
    distance.varying_begin_ns = detect::median(varying_begins);
    distance.scale_ns = std::hypot(detect::median(begins), independent(kind, dimension, all));
    distance.constant_ns = detect::median(constants);
    distance.raw_end_ns = detect::median(raw_ends);
    return distance;
  }
  double independent(const Kind& kind, const std::string& dimension,
                     const std::vector<Executions>& all) const {
    if (rule_.needs_apart_begins && kind.name == rule_.unnamed) return 0.0;
    std::vector<std::vector<Executions>> pairs;
    for (const auto& [a, b] : unrelated_pairs(dimension, coordinates_, run_.processes.size())) {
      if (!kind.processes[a].empty() && !kind.processes[b].empty())
        pairs.push_back({kind.processes[a], kind.processes[b]});
    }
    if (!pairs.empty()) return independent_ns(pairs);
    return rule_.needs_apart_begins ? 0.0 : own_variation_ns(all);
  }

  /// Sets clock_error_ns_: how far apart communication ends that is known to end together; 0 if
  /// there is none.
  void find_clock_error(const std::string& dimension) {
    clock_error_ns_ = 0.0;
    std::vector<double> errors;
    for (const Kind& kind : kinds_) {
      if (kind.is_work || kind.total_ns < kMinShare * work_ns_) continue;
      const Distance distance = distance_over(kind, dimension);
      if (distance.instances >= kMinInstances && distance.end_ns <= kTogether * distance.scale_ns)
        errors.push_back(distance.raw_end_ns);
    }
    if (!errors.empty()) clock_error_ns_ = detect::median(errors);
  }

  /// Do the begins vary more than the ends, so that common ends are no coincidence? In a pipeline,
  /// stages whose work differs may begin at constant distances such that they always end at the
  /// same time.
  bool has_apart_begins(const Distance& distance) const {
    return !rule_.needs_apart_begins || distance.end_ns <= kOfVariation * distance.varying_begin_ns;
  }

  bool is_together(const Kind& kind, const std::string& dimension) const {
    const Distance distance = distance_over(kind, dimension);
    return has_apart_begins(distance) && distance.instances >= kMinInstances &&
           distance.scale_ns > 0.0 && distance.end_ns <= kTogether * distance.scale_ns &&
           distance.constant_ns <=
               std::max(kClockMargin * clock_error_ns_, kTogether * distance.scale_ns);
  }

  /// Returns whether the members end together in some instances and independently in others.
  bool is_sometimes_at_once(const Kind& kind, const std::string& dimension) const {
    std::size_t all = 0;
    std::size_t at_once = 0;
    for (const Group& group : groups_over({dimension}, coordinates_, run_.processes.size())) {
      const Apart apart = distances(common_executions(members_of(kind, group)));
      for (std::size_t i = 0; i < apart.instances; ++i) at_once += is_at_once(apart, i) ? 1 : 0;
      all += apart.instances;
    }
    return at_once >= kMinInstances &&
           static_cast<double>(at_once) >= kMinAtOnce * static_cast<double>(all);
  }

  std::uint32_t operation_of(const Kind& kind, const std::set<std::string>& dimensions) {
    const std::vector<std::string> names(dimensions.begin(), dimensions.end());
    for (std::uint32_t i = 0; i < result_.operations.size(); ++i) {
      HiddenSync::Operation& known = result_.operations[i];
      if (known.name != kind.name || known.dimensions != names) continue;
      known.share += kind.total_ns / work_ns_;
      return i;
    }
    result_.operations.push_back({kind.name, names, kind.total_ns / work_ns_});
    return static_cast<std::uint32_t>(result_.operations.size() - 1);
  }

  void add_instances(const Kind& kind, const std::set<std::string>& dimensions, bool is_sometimes) {
    if (result_.instance_of.empty()) {
      for (const auto& segments : run_.processes)
        result_.instance_of.emplace_back(segments.size(), kNoInstance);
    }
    const std::uint32_t operation = operation_of(kind, dimensions);
    for (const Group& group : groups_over(dimensions, coordinates_, run_.processes.size())) {
      const auto common = common_executions(members_of(kind, group));
      const Apart apart = distances(common);
      const double limit_ns = std::max(
          {kFarOff * std::hypot(apart.begin_ns, own_variation_ns(members_of(kind, group))),
           5.0 * apart.end_ns, 1'000.0});
      for (std::size_t i = 0; i < apart.instances; ++i) {
        const bool do_meet = is_sometimes ? is_at_once(apart, i)
                                          : apart.worst_end_ns[i] <= limit_ns;
        if (do_meet) add_instance(group, common, i, operation);
      }
    }
  }
  void add_instance(const Group& group, const std::vector<std::vector<Execution>>& common,
                    std::size_t number, std::uint32_t operation) {
    HiddenSync::Instance instance{static_cast<std::uint32_t>(result_.members.size()),
                                  static_cast<std::uint32_t>(group.size()), operation,
                                  ~std::uint64_t{0}};
    for (std::size_t m = 0; m < group.size(); ++m) {
      const Execution& execution = common[m][number];
      instance.work_ns = std::min(instance.work_ns, execution.end_ns - execution.begin_ns);
      result_.instance_of[group[m]][execution.segment] = static_cast<std::uint32_t>(
          result_.instances.size());
      result_.members.push_back({group[m], execution.segment});
    }
    result_.instances.push_back(instance);
  }

  const RegionRun& run_;
  const Coordinates& coordinates_;
  const SyncRule& rule_;
  std::vector<Kind> kinds_;
  double work_ns_ = 0.0;
  double clock_error_ns_ = 0.0;
  std::map<const Kind*, std::set<std::string>> dimensions_of_;
  std::map<const Kind*, std::set<std::string>> sometimes_;
  HiddenSync result_;
};

}  // namespace

HiddenSync find_hidden_sync(const RegionRun& run, const Coordinates& coordinates,
                            const SyncRule& rule) {
  return Finder(run, coordinates, rule).find();
}

}  // namespace megascope::segments
