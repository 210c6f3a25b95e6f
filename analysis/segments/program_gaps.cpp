#include "analysis/segments/program_gaps.h"

#include "core/base/hash.h"
#include "core/record/user_regions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace megascope::segments {
namespace {

constexpr std::size_t kNoName = 0;
constexpr const char* kGapName = "work between MPI calls";

/// Counts the steps of a rank while its calls are read, and returns which segments are in the
/// current one.
class StepCounter {
 public:
  StepCounter(const detect::RankMarks& marks, const detect::StepMarker& marker)
      : marks_(marks), ends_(marker) {}

  bool is_annotated() const { return marks_.end_ns != nullptr; }
  std::size_t ended() const { return ended_; }
  /// Returns whether the current step ends with this call. Always false if steps are annotated.
  bool ends_with(const Call& call) { return !is_annotated() && ends_.end_at(call); }
  void end() { ++ended_; }
  /// Annotated steps: returns whether the current one ends by this time.
  bool has_ended_by(std::uint64_t time_ns) const {
    return is_annotated() && ended_ < marks_.end_ns->size() && time_ns >= (*marks_.end_ns)[ended_];
  }
  bool is_inside(std::uint64_t begin_ns, std::uint64_t end_ns) const {
    if (!is_annotated()) return ended_ > 0;
    if (ended_ >= marks_.end_ns->size() || end_ns > (*marks_.end_ns)[ended_]) return false;
    return marks_.begin_ns == nullptr || begin_ns >= (*marks_.begin_ns)[ended_];
  }

 private:
  detect::RankMarks marks_;
  detect::StepEnds ends_;
  std::size_t ended_ = 0;
};

/// Reads one process.
class GapReader {
 public:
  GapReader(const RecordSource& source, std::size_t process_index, StepCounter steps,
            const GapLimits& limits, Names& names)
      : definitions_(source.process(source.world_ranks()[process_index])),
        regions_(definitions_),
        has_user_regions_(regions_.are_beside_mpi()),
        steps_(std::move(steps)),
        limits_(limits),
        track_(static_cast<std::uint32_t>(process_index)) {
    gap_name_ = names.of(kGapName);
    for (const RegionDefinition& region : definitions_.regions) {
      if (name_of_.size() <= region.id) name_of_.resize(std::size_t{region.id} + 1, gap_name_);
      name_of_[region.id] = names.of(region.name);
    }
    if (definitions_.locations.empty()) return;
    calls_ = source.calls(source.world_ranks()[process_index],
                          detect::judged_location(definitions_));
  }

  std::vector<Segment> read() {
    for (Call call; calls_ != nullptr && !is_full() && calls_->next(call);) {
      if (call.is_pending || call.region >= name_of_.size()) continue;
      if (has_user_regions_ && regions_.has(call))
        enter_region(call);
      else if (call.depth == 0)
        add_call(call);
    }
    return segments_;
  }
  /// Counts segments of the current step, too: one step may have more than the limit.
  bool is_cut() const { return segments_.size() + step_.size() >= limits_.max_segments; }
  std::uint64_t sequence() const {
    const auto most = std::ranges::max_element(step_counts_, {},
                                               [](const auto& entry) { return entry.second; });
    return most == step_counts_.end() ? 0 : most->first;
  }

 private:
  struct Open {
    std::uint64_t end_ns = 0;
    std::uint32_t name = kNoName;
  };

  bool is_full() const { return steps_.ended() >= limits_.max_steps || is_cut(); }

  void enter_region(const Call& call) {
    cut_at(call.enter_ns);
    const bool is_step = definitions_.region(call.region)->name == kStepRegionName;
    const std::uint32_t around = open_.empty() ? gap_name_ : open_.back().name;
    open_.push_back({call.leave_ns, is_step ? around : name_of_[call.region]});
  }

  void add_call(const Call& call) {
    cut_at(call.enter_ns);
    push(call.enter_ns, std::max(call.enter_ns, call.leave_ns), name_of_[call.region], false);
    last_ns_ = std::max(last_ns_, call.leave_ns);
    if (!steps_.ends_with(call)) return;
    end_step();
    steps_.end();
  }

  /// Ends the gap, and before it the gaps that end with annotated regions.
  void cut_at(std::uint64_t time_ns) {
    while (!open_.empty() && open_.back().end_ns <= time_ns) {
      const Open ended = open_.back();
      push_gap(ended.end_ns, ended.name);
      open_.pop_back();
    }
    push_gap(time_ns, open_.empty() ? gap_name_ : open_.back().name);
  }
  void push_gap(std::uint64_t end_ns, std::uint32_t name) {
    const std::uint64_t begin_ns = std::exchange(last_ns_, std::max(last_ns_, end_ns));
    if (begin_ns != 0) push(begin_ns, last_ns_, name, true);
  }

  void push(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t name, bool is_work) {
    while (steps_.has_ended_by(begin_ns)) {
      end_step();
      steps_.end();
    }
    if (!steps_.is_inside(begin_ns, end_ns)) return;
    step_.push_back({begin_ns, end_ns, 0, static_cast<std::int64_t>(steps_.ended()), name, track_,
                     is_work, false});
    hash_ = combined(hash_, std::uint64_t{name} << 1 | (is_work ? 1 : 0));
  }

  /// All segments of the step are known now: assigns kinds to them.
  void end_step() {
    if (!step_.empty()) ++step_counts_[hash_];
    for (std::size_t i = 0; i < step_.size(); ++i) {
      step_[i].kind = combined(hash_, i);
      if (limits_.kinds == nullptr || limits_.kinds->contains(step_[i].kind))
        segments_.push_back(step_[i]);
    }
    step_.clear();
    hash_ = 0;
  }

  const ProcessDefinitions& definitions_;
  UserRegions regions_;
  bool has_user_regions_;
  StepCounter steps_;
  const GapLimits& limits_;
  std::uint32_t track_;
  std::uint32_t gap_name_ = 0;
  std::vector<std::uint32_t> name_of_;  ///< by RegionId
  std::unique_ptr<CallStream> calls_;
  std::vector<Open> open_;     ///< annotated regions around the current time
  std::vector<Segment> step_;  ///< segments of the current step
  std::vector<Segment> segments_;
  std::map<std::uint64_t, std::size_t> step_counts_;  ///< steps by hash of their segments
  std::uint64_t hash_ = 0;
  std::uint64_t last_ns_ = 0;  ///< where the last segment ended
};

}  // namespace

GapRun read_gaps(const RecordSource& source, const GapSteps& steps, const GapLimits& limits) {
  GapRun result;
  Names names;
  for (std::size_t i = 0; i < source.world_ranks().size(); ++i) {
    const detect::StepMarker marker = i < steps.markers.size() ? steps.markers[i]
                                                               : detect::StepMarker{};
    GapReader reader(source, i, StepCounter(detect::marks_of(steps.marks, i), marker), limits,
                     names);
    result.run.processes.push_back(reader.read());
    result.is_cut = result.is_cut || reader.is_cut();
    result.sequences.push_back(reader.sequence());
  }
  result.run.names = names.take();
  return result;
}

}  // namespace megascope::segments
