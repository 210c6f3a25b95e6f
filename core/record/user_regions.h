#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"
#include "core/record/event_view.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace megascope {

/// Name of the region that is a step of the application.
inline constexpr std::string_view kStepRegionName = "step";

/// Distinguishes the annotated regions of one process from its MPI calls.
class UserRegions {
 public:
  explicit UserRegions(const ProcessDefinitions& process) {
    for (const RegionDefinition& region : process.regions) {
      has_mpi_ |= region.paradigm == Paradigm::kMpi;
      if (region.paradigm != Paradigm::kUser) continue;
      if (region.id >= is_user_.size()) is_user_.resize(std::size_t{region.id} + 1);
      is_user_[region.id] = 1;
    }
  }
  bool has(RegionId region) const { return region < is_user_.size() && is_user_[region] != 0; }
  bool has(const Call& call) const { return has(call.region); }
  bool is_empty() const { return is_user_.empty(); }
  /// Returns whether the process has both MPI calls and annotated regions. If false, its regions
  /// are its only records, as in timelines imported from other tools.
  bool are_beside_mpi() const { return has_mpi_ && !is_empty(); }

 private:
  std::vector<std::uint8_t> is_user_;  ///< by RegionId
  bool has_mpi_ = false;
};

/// Returns the number that the application gave to the step. call: a step, or a region with a step
/// attribute; -1 for others.
inline std::int64_t annotated_step(const Call& call) {
  for (const Fact& fact : call.facts) {
    const auto value = events::as<events::Value>(fact);
    if (value && value->name() == ValueName::kStep) return value->number();
  }
  return -1;
}

/// Returns whether the call continues a region instance that an earlier record began.
inline bool is_continued(const Call& call) {
  for (const Fact& fact : call.facts) {
    const auto value = events::as<events::Value>(fact);
    if (value && value->name() == ValueName::kContinued) return true;
  }
  return false;
}

}  // namespace megascope
