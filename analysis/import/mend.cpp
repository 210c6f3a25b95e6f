#include "analysis/import/mend.h"

#include "analysis/import/estimate_ends.h"
#include "analysis/import/false_pairs.h"

#include <algorithm>
#include <tuple>

namespace megascope::importer {
namespace {

std::string describe(const Timeline& timeline, const Operation& operation) {
  return "\"" + timeline.names[operation.name] + "\" at " +
         std::to_string(operation.begin_ns / 1000) + " us";
}

void unite(Timeline& timeline) {
  std::vector<Operation>& all = timeline.operations;
  const auto key = [](const Operation& a) {
    return std::tuple(a.begin_ns, ~a.end_ns, a.track, a.name, a.step, a.sequence, a.micro_batch,
                      a.model_chunk, a.bytes, a.specified);
  };
  std::sort(all.begin(), all.end(),
            [&key](const Operation& a, const Operation& b) { return key(a) < key(b); });
  const auto is_copy = [](const Operation& a, const Operation& b) {
    return a == b && !a.may_repeat;
  };
  const auto copy = std::adjacent_find(all.begin(), all.end(), is_copy);
  if (copy == all.end()) return;
  const std::string first = describe(timeline, *copy);
  const auto end = std::unique(copy, all.end(), is_copy);
  timeline.repairs.add(RepairKind::kDuplicate, static_cast<std::uint64_t>(all.end() - end), first);
  all.erase(end, all.end());
}

/// Steps of one track's operations in order of begin.
class StepOrder {
 public:
  StepOrder(Timeline& timeline, std::vector<std::uint32_t> track)
      : timeline_(timeline), track_(std::move(track)) {}

  void mend() {
    for (std::size_t i = 0; i < track_.size(); ++i) {
      if (const std::int32_t step = fitting(i); step != step_at(i)) changes_.emplace_back(i, step);
    }
    // A tenth is no damage: the tool counts in another way.
    if (changes_.size() * 10 > track_.size() && changes_.size() > 1) return;
    for (const auto& [i, step] : changes_) {
      Operation& operation = timeline_.operations[track_[i]];
      timeline_.repairs.add(RepairKind::kStepOrder, describe(timeline_, operation));
      operation.step = step;
    }
  }

 private:
  static constexpr std::size_t kNeighbours = 3;

  std::int32_t step_at(std::size_t i) const { return timeline_.operations[track_[i]].step; }
  /// The median of up to three neighbours' steps, those before as they were mended; kUnknown where
  /// there is none.
  std::int32_t around(std::size_t i, bool is_before) const {
    std::int32_t steps[kNeighbours];
    std::size_t count = 0;
    for (std::size_t distance = 1; distance <= kNeighbours; ++distance) {
      if (is_before ? distance > i : i + distance >= track_.size()) break;
      steps[count++] = is_before ? mended_at(i - distance) : step_at(i + distance);
    }
    std::sort(steps, steps + count);
    return count == 0 ? kUnknown : steps[count / 2];
  }
  std::int32_t mended_at(std::size_t i) const {
    for (auto change = changes_.rbegin();
         change != changes_.rend() && change->first + kNeighbours >= i; ++change) {
      if (change->first == i) return change->second;
    }
    return step_at(i);
  }
  /// The step that fits: its own where it lies between those around it.
  std::int32_t fitting(std::size_t i) const {
    const std::int32_t own = step_at(i);
    std::int32_t low = around(i, true);
    std::int32_t high = around(i, false);
    if (low == kUnknown) low = high;  // at the edges: as the neighbours on the other side
    if (high == kUnknown) high = low;
    if (own < 0 || low < 0 || low > high || (own >= low && own <= high)) return own;
    if (i == 0 || i + 1 == track_.size())
      return i == 0 ? (own > high ? high : own) : (own < low ? low : own);
    const std::int32_t before = std::clamp(mended_at(i - 1), low, high);
    const std::int32_t after = std::clamp(step_at(i + 1), low, high);
    if (after - before >= 2) return before + 1;
    const Operation& operation = timeline_.operations[track_[i]];
    const std::uint64_t since_ns = operation.begin_ns -
                                   std::min(operation.begin_ns,
                                            timeline_.operations[track_[i - 1]].end_ns);
    const std::uint64_t until_ns = timeline_.operations[track_[i + 1]].begin_ns -
                                   std::min(timeline_.operations[track_[i + 1]].begin_ns,
                                            operation.end_ns);
    return since_ns <= until_ns ? before : after;
  }

  Timeline& timeline_;
  std::vector<std::uint32_t> track_;
  std::vector<std::pair<std::size_t, std::int32_t>> changes_;  ///< ascending
};

/// Only tracks on which steps descend somewhere are looked at.
void mend_steps(Timeline& timeline) {
  std::vector<std::int32_t> last(timeline.tracks.size(), kUnknown);
  std::vector<bool> descends(timeline.tracks.size());
  bool does_any = false;
  for (const Operation& operation : timeline.operations) {
    if (operation.step == kUnknown) continue;
    if (operation.step < last[operation.track]) does_any = descends[operation.track] = true;
    last[operation.track] = operation.step;
  }
  if (!does_any) return;
  std::vector<std::vector<std::uint32_t>> tracks(timeline.tracks.size());
  for (std::uint32_t i = 0; i < timeline.operations.size(); ++i) {
    const Operation& operation = timeline.operations[i];
    if (descends[operation.track] && operation.step != kUnknown)
      tracks[operation.track].push_back(i);
  }
  for (std::vector<std::uint32_t>& track : tracks) StepOrder(timeline, std::move(track)).mend();
}

}  // namespace

void mend(Timeline& timeline) {
  split_false_pairs(timeline);
  estimate_ends(timeline);
  unite(timeline);
  mend_steps(timeline);
}

}  // namespace megascope::importer
