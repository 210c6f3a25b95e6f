#include "analysis/pieces/work_source.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace megascope::pieces {
namespace {

constexpr std::uint64_t kMostOverlap = 10;  ///< an n-th of a step
constexpr RegionId kFreeRegion = 1;
/// Calls without facts set a program up: these are no such calls.
const Fact kFree{.kind = FactKind::kLocalBytes};

}  // namespace

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

WorkSource::WorkSource(const RecordSource& source, const analysis::MatchTables& tables) : source_(source) {
  Names names;
  std::vector<std::vector<Step>> steps;
  for (std::size_t i = 0; i < source.world_ranks().size(); ++i) {
    std::vector<Piece> pieces;
    region_pieces(source, tables, i, names, pieces);
    steps.push_back(steps_of(std::move(pieces)));
    Worker& worker = workers_.emplace_back();
    worker.definitions.info = source.process(source.world_ranks()[i]).info;
    worker.definitions.regions.push_back({.id = kFreeRegion, .name = "no operation", .role = RegionRole::kUnknown, .paradigm = Paradigm::kUser,
                                          .collective_op = CollectiveOp::kNone, .group = ""});
    LocationDefinition location;
    location.is_main = true;
    worker.definitions.locations.push_back(location);
  }
  keep_common(steps);
  for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i].free = free_time(steps[i], step_numbers_);
}

std::size_t WorkSource::index_of(std::int32_t world_rank) const {
  const auto& ranks = source_.world_ranks();
  return static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), world_rank) - ranks.begin());
}

std::vector<WorkSource::Step> WorkSource::steps_of(std::vector<Piece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tuple(a.step, a.begin_ns, a.end_ns) < std::tuple(b.step, b.begin_ns, b.end_ns);
  });
  std::vector<Step> steps;
  for (const Piece& piece : pieces) {
    if (!piece.is_work || piece.begin_ns == piece.end_ns) continue;  // a receive of the next step may begin in this one
    if (steps.empty() || steps.back().number != piece.step) steps.push_back({piece.step, piece.begin_ns, piece.end_ns, {}});
    Step& step = steps.back();
    step.end_ns = std::max(step.end_ns, piece.end_ns);
    if (piece.continues && !step.work.empty() && step.work.back().end_ns == piece.begin_ns) {  // what cut it took no time
      step.work.back().end_ns = piece.end_ns;
      continue;
    }
    // Work on two streams at once counts once.
    const std::uint64_t begin_ns = step.work.empty() ? piece.begin_ns : std::max(piece.begin_ns, step.work.back().end_ns);
    if (begin_ns < piece.end_ns) step.work.push_back({begin_ns, piece.end_ns});
  }
  return steps;
}

/// A step whose work begins long before that of the one before has ended cannot be judged by itself.
void WorkSource::keep_common(const std::vector<std::vector<Step>>& steps) {
  std::map<std::int64_t, std::size_t> counts;
  for (const std::vector<Step>& of_rank : steps) {
    std::uint64_t last_end_ns = 0;
    for (const Step& step : of_rank) {
      if (step.begin_ns + (step.end_ns - step.begin_ns) / kMostOverlap < last_end_ns) continue;
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
      if (std::binary_search(step_numbers_.begin(), step_numbers_.end(), step.number)) ends.push_back(step.end_ns);
    }
  }
}

std::vector<WorkSource::Interval> WorkSource::free_time(const std::vector<Step>& steps, const std::vector<std::int64_t>& numbers) {
  std::vector<Interval> free;
  std::uint64_t now_ns = 0;
  for (const Step& step : steps) {
    if (!std::binary_search(numbers.begin(), numbers.end(), step.number)) continue;
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

}  // namespace megascope::pieces
