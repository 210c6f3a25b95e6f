#include "analysis/import/estimate_ends.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace megascope::importer {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // track, name

Key key_of(const Operation& operation) { return {operation.track, operation.name}; }

/// Statistics of the complete operations, for estimates.
class Sound {
 public:
  explicit Sound(const Timeline& timeline) : timeline_(timeline) {
    std::unordered_set<std::uint32_t> unsound;
    std::set<std::uint32_t> names;
    for (const Estimate& estimate : timeline.estimates) {
      const Operation& operation = timeline.operations[estimate.operation];
      unsound.insert(estimate.operation);
      names.insert(operation.name);
      tracks_[operation.track];
    }
    for (std::uint32_t i = 0; i < timeline.operations.size(); ++i) {
      const Operation& operation = timeline.operations[i];
      if (unsound.contains(i)) continue;
      const auto track = tracks_.find(operation.track);
      if (track != tracks_.end()) track->second.by_begin.push_back(i);
      if (!names.contains(operation.name)) continue;
      const std::uint64_t length_ns = operation.end_ns - operation.begin_ns;
      anywhere_[operation.name].push_back(length_ns);
      if (track != tracks_.end()) lengths_[key_of(operation)].push_back(length_ns);
    }
    for (auto& [name, lengths] : anywhere_) std::ranges::sort(lengths);
    for (auto& [key, lengths] : lengths_) std::ranges::sort(lengths);
    for (auto& [number, track] : tracks_) order(track);
  }

  /// The median of its name on its track, else on all; 0 where there is none.
  std::uint64_t usual_ns(const Operation& operation) const {
    const std::vector<std::uint64_t>* lengths = lengths_of(operation);
    return lengths == nullptr ? 0 : (*lengths)[lengths->size() / 2];
  }
  /// Is the length one that operations of its name have? Half of the shortest may be.
  bool is_plausible(const Operation& operation) const {
    const std::vector<std::uint64_t>* lengths = lengths_of(operation);
    const std::uint64_t length_ns = operation.end_ns - operation.begin_ns;
    return lengths == nullptr ||
           (length_ns <= lengths->back() && length_ns >= lengths->front() / 2);
  }
  bool encloses_others(const Operation& operation) const {
    return enclosing_.contains(key_of(operation));
  }
  /// Begin of the next operation of the track; no limit if there is none.
  std::uint64_t next_begin_ns(const Operation& operation) const {
    const std::vector<std::uint32_t>& all = tracks_.at(operation.track).by_begin;
    const auto begin_of = [this](std::uint32_t i) { return timeline_.operations[i].begin_ns; };
    const auto next = std::ranges::upper_bound(all, operation.begin_ns, {}, begin_of);
    return next == all.end() ? ~std::uint64_t{0} : begin_of(*next);
  }
  /// Latest end of an operation of the track before the end of this one.
  std::uint64_t last_end_ns(const Operation& operation) const {
    const std::vector<std::uint64_t>& ends = tracks_.at(operation.track).ends_ns;
    const auto next = std::ranges::lower_bound(ends, operation.end_ns);
    return next == ends.begin() ? 0 : *(next - 1);
  }
  /// The operation of the track that begins last before this one; nullptr: none does.
  const Operation* before(const Operation& operation) const {
    const std::vector<std::uint32_t>& all = tracks_.at(operation.track).by_begin;
    const auto next = std::ranges::upper_bound(
        all, operation.begin_ns, {},
        [this](std::uint32_t i) { return timeline_.operations[i].begin_ns; });
    if (next != all.begin()) return &timeline_.operations[*(next - 1)];
    return next == all.end() ? nullptr : &timeline_.operations[*next];
  }

 private:
  struct Track {
    std::vector<std::uint32_t> by_begin;  ///< operations; the enclosing before the enclosed
    std::vector<std::uint64_t> ends_ns;   ///< ascending
  };

  const std::vector<std::uint64_t>* lengths_of(const Operation& operation) const {
    if (const auto here = lengths_.find(key_of(operation)); here != lengths_.end())
      return &here->second;
    const auto anywhere = anywhere_.find(operation.name);
    return anywhere == anywhere_.end() ? nullptr : &anywhere->second;
  }
  void order(Track& track) {
    const auto key = [this](std::uint32_t i) {
      return std::pair(timeline_.operations[i].begin_ns, ~timeline_.operations[i].end_ns);
    };
    std::ranges::sort(track.by_begin, {}, key);
    std::vector<const Operation*> open;
    for (const std::uint32_t i : track.by_begin) {
      const Operation& operation = timeline_.operations[i];
      track.ends_ns.push_back(operation.end_ns);
      while (!open.empty() && open.back()->end_ns <= operation.begin_ns) open.pop_back();
      if (!open.empty() && open.back()->end_ns >= operation.end_ns)
        enclosing_.insert(key_of(*open.back()));
      open.push_back(&operation);
    }
    std::ranges::sort(track.ends_ns);
  }

  const Timeline& timeline_;
  std::map<std::uint32_t, Track> tracks_;
  std::map<Key, std::vector<std::uint64_t>> lengths_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> anywhere_;
  std::set<Key> enclosing_;
};

void estimate_end(const Sound& sound, Operation& operation) {
  std::uint64_t end_ns = operation.begin_ns + sound.usual_ns(operation);
  if (!sound.encloses_others(operation)) end_ns = std::min(end_ns, sound.next_begin_ns(operation));
  operation.end_ns = std::max(end_ns, operation.begin_ns);
}

void estimate_begin(const Sound& sound, Operation& operation) {
  std::uint64_t begin_ns = operation.end_ns - std::min(operation.end_ns, sound.usual_ns(operation));
  if (!sound.encloses_others(operation))
    begin_ns = std::max(begin_ns, sound.last_end_ns(operation));
  operation.begin_ns = std::min(begin_ns, operation.end_ns);
  if (operation.step != kUnknown) return;
  if (const Operation* before = sound.before(operation); before != nullptr)
    operation.step = before->step;
}

}  // namespace

void estimate_ends(Timeline& timeline) {
  if (timeline.estimates.empty()) return;
  const Sound sound(timeline);
  for (const Estimate& estimate : timeline.estimates) {
    Operation& operation = timeline.operations[estimate.operation];
    const bool is_wrong = estimate.of == Estimate::Of::kSign && !sound.is_plausible(operation);
    if (estimate.of == Estimate::Of::kEnd || is_wrong) estimate_end(sound, operation);
    if (estimate.of == Estimate::Of::kBegin) estimate_begin(sound, operation);
  }
  timeline.estimates.clear();
}

}  // namespace megascope::importer
