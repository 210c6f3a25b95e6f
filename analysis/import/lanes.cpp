#include "analysis/import/lanes.h"

#include <map>

namespace megascope::importer {
namespace {

struct OpenLane {
  Lane lane;
  struct Open {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool is_work = false;

    bool is_over_at(const Operation& operation) const {
      return end_ns < operation.begin_ns || (end_ns == operation.begin_ns && begin_ns != end_ns) ||
             (end_ns == operation.begin_ns && operation.end_ns > end_ns);
    }
    bool can_enclose(const Operation& operation) const {
      return is_work && operation.end_ns <= end_ns;
    }
  };
  std::vector<Open> open;  ///< what may enclose the next operation, outermost first

  /// Adds the operation if it follows the lane's operations or lies within one of them.
  bool take(const Operation& operation, std::uint32_t index, bool is_work) {
    while (!open.empty() && open.back().is_over_at(operation)) open.pop_back();
    if (!open.empty() && (!open.back().can_enclose(operation) || open.size() > kDeepestNesting))
      return false;
    open.push_back({operation.begin_ns, operation.end_ns, is_work});
    lane.operations.push_back(index);
    return true;
  }
};

}  // namespace

Status lanes_of(const Timeline& timeline, const std::vector<std::uint32_t>& operations,
                const std::vector<bool>& is_work, std::vector<Lane>& all) {
  std::map<std::uint32_t, std::vector<OpenLane>> by_track;
  for (const std::uint32_t index : operations) {
    const Operation& operation = timeline.operations[index];
    std::vector<OpenLane>& lanes = by_track[operation.track];
    bool is_taken = false;
    for (std::size_t i = 0; i < lanes.size() && !is_taken; ++i)
      is_taken = lanes[i].take(operation, index, is_work[operation.name]);
    if (is_taken) continue;
    const std::string& stream = timeline.tracks[operation.track].stream;
    if (lanes.size() == kMaxLanes) {
      return Status::error("more than " + std::to_string(kMaxLanes) +
                           " operations of one track (\"" + stream + "\") overlap");
    }
    std::string name = stream.empty() ? "operations" : stream;
    if (!lanes.empty()) name += " (" + std::to_string(lanes.size() + 1) + ")";
    lanes.push_back(
        {.lane = {.name = std::move(name), .is_extra = !lanes.empty(), .operations = {}},
         .open = {}});
    (void)lanes.back().take(operation, index, is_work[operation.name]);
  }
  all.clear();
  for (auto& [track, lanes] : by_track) {
    for (OpenLane& open : lanes) all.push_back(std::move(open.lane));
  }
  return Status::ok();
}

}  // namespace megascope::importer
