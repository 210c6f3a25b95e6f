#include "analysis/advice/advice.h"

#include "analysis/advice/rules.h"
#include "core/record/user_regions.h"

#include <algorithm>
#include <map>
#include <set>

namespace megascope::advice {

std::vector<Finding> advise(const Facts& facts) {
  static constexpr void (*kRules[])(const Facts&, Findings&) = {
      find_late_sender,      find_rank_imbalance, find_sequential_ring, find_small_messages,
      find_gather_bcast,     find_bcast_runs,     find_barriers,        find_all_to_all,
      find_tiny_collectives, find_polling,        find_serial_files,    find_unexpected_messages};
  Findings found;
  if (facts.wall_ns == 0) return found;
  for (const auto rule : kRules) rule(facts, found);
  for (Finding& finding : found) std::ranges::sort(finding.ranks);
  std::ranges::stable_sort(found,
                           [](const Finding& a, const Finding& b) { return a.share > b.share; });
  return found;
}

namespace {

struct Open {
  std::uint64_t leave_ns = 0;
  RegionId region = kNoRegion;
};

/// Time of one rank's calls of some functions, by function and innermost region of the program.
class RegionTimes {
 public:
  RegionTimes(const RecordSource& source, std::int32_t world_rank,
              const std::set<std::string>& functions)
      : process_(source.process(world_rank)), regions_(process_) {
    for (const RegionDefinition& region : process_.regions) {
      if (regions_.has(region.id) || !functions.contains(region.name)) continue;
      if (region.id >= is_wanted_.size()) is_wanted_.resize(std::size_t{region.id} + 1);
      is_wanted_[region.id] = true;
    }
    for (const LocationDefinition& location : process_.locations)
      read(*source.calls(world_rank, location.id));
  }

  /// Empty: most of the time is in none.
  std::string most_in(const std::string& function) const {
    std::uint64_t all_ns = 0;
    std::pair<std::uint64_t, RegionId> most{0, kNoRegion};
    for (const auto& [key, time_ns] : times_) {
      if (process_.region(key.first)->name != function) continue;
      all_ns += time_ns;
      most = std::max(most, std::pair(time_ns, key.second));
    }
    if (most.second == kNoRegion || 2 * most.first < all_ns) return {};
    return process_.region(most.second)->name;
  }

 private:
  void read(CallStream& calls) {
    std::vector<Open> open;
    Call call;
    while (calls.next(call)) {
      while (!open.empty() && open.back().leave_ns <= call.enter_ns) open.pop_back();
      if (regions_.has(call)) {
        const RegionDefinition* region = process_.region(call.region);
        if (region != nullptr && region->name != kStepRegionName)
          open.push_back({call.leave_ns, call.region});
      } else if (call.region < is_wanted_.size() && is_wanted_[call.region]) {
        times_[{call.region, open.empty() ? kNoRegion : open.back().region}] += time_inside(call);
      }
    }
  }

  const ProcessDefinitions& process_;
  UserRegions regions_;
  std::vector<bool> is_wanted_;
  std::map<std::pair<RegionId, RegionId>, std::uint64_t> times_;
};

bool wants_region(const RecordSource& source, const Finding& finding) {
  if (finding.site != kNoIndex || finding.function == kNoIndex || finding.ranks.empty())
    return false;
  return UserRegions(source.process(finding.ranks.front())).are_beside_mpi();
}

}  // namespace

void name_regions(const RecordSource& source, const Facts& facts, std::vector<Finding>& findings) {
  std::map<std::int32_t, std::set<std::string>> wanted;
  for (const Finding& finding : findings) {
    if (wants_region(source, finding))
      wanted[finding.ranks.front()].insert(facts.functions[finding.function]);
  }
  for (const auto& [rank, functions] : wanted) {
    const RegionTimes times(source, rank, functions);
    for (Finding& finding : findings) {
      if (wants_region(source, finding) && finding.ranks.front() == rank)
        finding.region = times.most_in(facts.functions[finding.function]);
    }
  }
}

}  // namespace megascope::advice
