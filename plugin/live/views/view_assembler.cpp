#include "plugin/live/views/view_assembler.h"

#include "plugin/live/protocol/bounds.h"
#include "plugin/live/views/cells.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace megascope::live {
namespace {

constexpr std::size_t kMaxKeys = 65'536;

std::uint64_t product(const std::vector<std::uint64_t>& shape, std::size_t first,
                      std::size_t last) {
  std::uint64_t cells = 1;
  for (std::size_t d = first; d < last; ++d) cells *= shape[d];
  return cells;
}

}  // namespace

ViewAssembler::Open ViewAssembler::opened(const capture::ViewPart& part,
                                          const kernels::TileMethod& method, std::int64_t now_ns) {
  Open open;
  open.method = method;
  open.parts = part.parts;
  open.columns = part.columns;
  open.tile_extent = part.tile_extent;
  open.split_dimension = part.split_dimension;
  open.since_ns = now_ns;
  View& view = open.view;
  view.capture_request = part.capture_request;
  view.key = part.key;
  view.step = part.step;
  view.micro_batch = part.micro_batch;
  view.replica = part.replica;
  view.begin_ns = part.realtime_ns;
  view.tile_width = part.tile_width;
  view.full_shape = part.full_shape;
  view.shape = part.whole_shape;
  if (part.split_dimension < 0) return open;
  open.is_filled.resize(part.whole_shape[static_cast<std::size_t>(part.split_dimension)]);
  const bool is_split_in_tiles = part.tile_width != 0 &&
                                 static_cast<std::size_t>(part.split_dimension) + 1 ==
                                     part.whole_shape.size();
  if (is_split_in_tiles) open.covered.resize(open.is_filled.size());
  view.values.resize(product(part.whole_shape, 0, part.whole_shape.size()) * part.columns,
                     std::numeric_limits<float>::quiet_NaN());
  return open;
}

/// Whether the part's shape is consistent with the view's other parts.
bool ViewAssembler::fits(const Open& open, const capture::ViewPart& part) {
  return open.view.shape == part.whole_shape && open.split_dimension == part.split_dimension &&
         open.columns == part.columns && open.view.tile_width == part.tile_width &&
         open.tile_extent == part.tile_extent;
}

void ViewAssembler::put(Open& open, const capture::ViewPart& part) {
  const auto split = static_cast<std::size_t>(part.split_dimension);
  const std::size_t inner = product(part.shape, split + 1, part.shape.size()) * part.columns;
  const std::size_t rows = product(part.shape, 0, split);
  const std::size_t from_row = part.shape[split] * inner;
  const std::size_t to_row = part.whole_shape[split] * inner;
  const bool may_share = !open.covered.empty();
  for (const capture::PartStretch& stretch : part.stretches) {
    const float* from = part.elements.data() + stretch.start * inner;
    float* to = open.view.values.data() + stretch.whole_start * inner;
    const std::span filled(open.is_filled.data() + stretch.whole_start, stretch.count);
    for (std::size_t row = 0; row < rows; ++row, from += from_row, to += to_row) {
      if (may_share)
        merge_cells(open.method, part.tile_width, part.columns, filled,
                    {from, stretch.count * inner}, to);
      else
        std::copy_n(from, stretch.count * inner, to);
    }
    std::ranges::fill(filled, std::uint8_t{1});
    if (may_share)
      cover_cells({.extent = open.tile_extent, .width = part.tile_width}, stretch, open.covered);
  }
}

ViewPointer ViewAssembler::finished(Open&& open, std::int64_t now_ns) {
  View& view = open.view;
  view.end_ns = now_ns;
  std::ranges::sort(view.ranks);
  const auto here = static_cast<std::uint32_t>(view.ranks.size());
  view.missing = open.split_dimension < 0 ? 0 : open.parts - std::min(open.parts, here);
  if (view.tile_width != 0) {
    const kernels::TileGrid grid{.extent = open.tile_extent, .width = view.tile_width};
    finish_cells(open.method, grid, open.columns, view.values);
    spoil_cells(grid, open.covered, view.values);
  } else if (open.columns != 1) {
    keep_first_column(open.columns, view.values);
  }
  return std::make_shared<const View>(std::move(view));
}

void ViewAssembler::close(const Key& key, Steps& steps, Steps::iterator at, std::int64_t now_ns,
                          std::vector<ViewPointer>& whole) {
  bytes_ -= at->second.view.values.size() * sizeof(float);
  std::int64_t& last_step = past_[key].last_step;
  last_step = std::max(last_step, at->first);
  whole.push_back(finished(std::move(at->second), now_ns));
  steps.erase(at);
}

bool ViewAssembler::is_patient(std::int64_t since_ns, std::uint64_t since_block,
                               std::int64_t now_ns) const {
  const std::int64_t waited_ns = now_ns - since_ns;
  return waited_ns <= kTimeoutNs ||
         (waited_ns <= kMaxTimeoutNs && blocks_ - since_block < kTimeoutBlocks);
}

ViewAssembler::Fate ViewAssembler::judge(const Key& key, const capture::ViewPart& part,
                                         std::int64_t now_ns) {
  const auto known = past_.find(key);
  if (known == past_.end()) {
    if (past_.size() >= kMaxKeys) return Fate::kTooMany;
    past_.emplace(key, Past{.min_copy = part.copy, .seen_ns = now_ns, .seen_block = blocks_});
    return Fate::kTaken;
  }
  Past& past = known->second;
  const Fate fate = part.copy > past.min_copy ? judge_copy(past, part, now_ns) : Fate::kTaken;
  if (fate == Fate::kCopy) return fate;
  if (part.copy != std::exchange(past.min_copy, part.copy)) {
    if (const auto others = open_.find(key); others != open_.end()) drop(others);
  }
  past.seen_ns = now_ns;
  past.seen_block = blocks_;
  past.passed_steps = 0;
  return part.step > past.last_step ? fate : Fate::kPast;
}

/// A part of a higher replica is ignored as long as parts of the lowest one may still arrive.
ViewAssembler::Fate ViewAssembler::judge_copy(Past& past, const capture::ViewPart& part,
                                              std::int64_t now_ns) const {
  constexpr std::uint64_t kMaxPassed = 4;
  if (part.step > std::max(past.passed_step, past.last_step)) ++past.passed_steps;
  past.passed_step = std::max(past.passed_step, part.step);
  const bool is_awaited = past.passed_steps < kMaxPassed ||
                          is_patient(past.seen_ns, past.seen_block, now_ns);
  return is_awaited ? Fate::kCopy : Fate::kInstead;
}

void ViewAssembler::drop(std::map<Key, Steps>::iterator at) {
  for (const auto& [step, open] : at->second) bytes_ -= open.view.values.size() * sizeof(float);
  open_.erase(at);
}

ViewAssembler::Fate ViewAssembler::add(std::int32_t world_rank, capture::ViewPart&& part,
                                       const kernels::TileMethod& method, std::int64_t now_ns,
                                       std::vector<ViewPointer>& whole) {
  const Key key{part.capture_request, part.key, part.micro_batch, part.replica};
  const Fate fate = judge(key, part, now_ns);
  if (fate != Fate::kTaken && fate != Fate::kInstead) return fate;
  Steps& steps = open_[key];
  auto at = steps.find(part.step);
  if (at == steps.end()) {
    at = steps.emplace(part.step, opened(part, method, now_ns)).first;
    at->second.since_block = blocks_;
    bytes_ += at->second.view.values.size() * sizeof(float);
  }
  Open& open = at->second;
  const bool is_twice = std::ranges::find(open.view.ranks, world_rank) != open.view.ranks.end();
  if (!fits(open, part)) return Fate::kUnlike;
  if (is_twice) return Fate::kTwice;
  open.view.ranks.push_back(world_rank);
  open.view.begin_ns = std::min(open.view.begin_ns, part.realtime_ns);
  if (part.split_dimension < 0) {
    bytes_ += part.elements.size() * sizeof(float);
    open.view.values = std::move(part.elements);
  } else {
    put(open, part);
  }
  if (part.split_dimension < 0 || open.view.ranks.size() >= open.parts) {
    while (steps.begin()->first < part.step)
      // A rank sends its parts in step order, so earlier steps get no more parts.
      close(key, steps, steps.begin(), now_ns, whole);
    close(key, steps, at, now_ns, whole);
  }
  if (steps.empty()) open_.erase(key);
  make_space(now_ns, whole);
  return fate;
}

void ViewAssembler::make_space(std::int64_t now_ns, std::vector<ViewPointer>& whole) {
  while (bytes_ > kMaxPartBytes && !open_.empty()) {
    auto oldest = open_.begin();
    for (auto at = open_.begin(); at != open_.end(); ++at) {
      if (at->second.begin()->second.since_ns < oldest->second.begin()->second.since_ns)
        oldest = at;
    }
    close(oldest->first, oldest->second, oldest->second.begin(), now_ns, whole);
    if (oldest->second.empty()) open_.erase(oldest);
  }
}

void ViewAssembler::expire(std::int64_t now_ns, bool all, std::vector<ViewPointer>& whole) {
  for (auto at = open_.begin(); at != open_.end();) {
    Steps& steps = at->second;
    while (!steps.empty() && (all || !is_patient(steps.begin()->second.since_ns,
                                                 steps.begin()->second.since_block, now_ns)))
      close(at->first, steps, steps.begin(), now_ns, whole);
    at = steps.empty() ? open_.erase(at) : std::next(at);
  }
}

void ViewAssembler::forget(std::uint32_t capture_request) {
  for (auto at = open_.begin(); at != open_.end();) {
    const auto one = at++;
    if (one->first.capture_request == capture_request) drop(one);
  }
  std::erase_if(past_,
                [&](const auto& entry) { return entry.first.capture_request == capture_request; });
}

}  // namespace megascope::live
