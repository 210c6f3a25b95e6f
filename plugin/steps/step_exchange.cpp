#include "plugin/steps/step_exchange.h"

#include "core/base/clock.h"
#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace megascope::steps {
namespace {

constexpr std::string_view kTensorParallel = "tp";

bool is_between(std::uint32_t first, std::int32_t rank, std::uint32_t last) {
  return first <= static_cast<std::uint32_t>(rank) && static_cast<std::uint32_t>(rank) <= last;
}

}  // namespace

void StepExchange::add(const TensorView& tensor, const kernels::TensorStatistics& statistics,
                       bool is_counted) noexcept {
  try {
    const bool is_split = tensor.shape.split_dimension >= 0;
    const std::string_view group = !is_split                    ? std::string_view()
                                   : tensor.split_group.empty() ? kTensorParallel
                                                                : tensor.split_group;
    const std::lock_guard lock(mutex_);
    auto found = by_identity_.find(
        {tensor.id, tensor.shape.layer, tensor.shape.kind, is_split, group});
    if (found == by_identity_.end()) {
      if (tensors_.size() >= 16 * std::size_t{kMaxSlots})
        return note(kNoSpace, std::string(tensor.name));
      Tensor& made = tensors_.emplace_back(Tensor{.name = std::string(tensor.name),
                                                  .layer = tensor.shape.layer,
                                                  .kind = tensor.shape.kind,
                                                  .is_split = is_split,
                                                  .split_group = std::string(group),
                                                  .places_version = 0,
                                                  .shard = {},
                                                  .counters_version = 0,
                                                  .counters = {},
                                                  .is_shown = false,
                                                  .is_counted = false,
                                                  .named_version = 0,
                                                  .shape = {},
                                                  .statistics = {}});
      found = by_identity_
                  .emplace(Identity{tensor.id, made.layer, made.kind, is_split, made.split_group},
                           tensors_.size() - 1)
                  .first;
    }
    Tensor& mine = tensors_[found->second];
    if (!mine.is_shown) mine.statistics = {};
    mine.is_shown = true;
    mine.is_counted = is_counted;
    mine.shape = tensor.shape;
    mine.statistics.merge(statistics);
  } catch (const std::bad_alloc&) {
    hooks::refuse(LossCause::kRefused, "out of memory for a tensor's statistics over all ranks");
  }
}

bool StepExchange::begin(std::int64_t step) noexcept {
  if (step <= step_) {
    is_spoiled_ = true;
    return false;
  }
  if (capture_ != nullptr) capture_->read_counters();
  const std::uint64_t now_ns = clock::monotonic_ns();
  step_ns_ = begin_ns_ == 0 ? 0 : now_ns - begin_ns_;
  begin_ns_ = now_ns;
  wake(now_ns);
  reported_realtime_ns_ = std::exchange(begin_realtime_ns_,
                                        capture_ != nullptr ? clock::realtime_ns() : 0);
  reported_step_ = step_;
  next_step_ = step_ = step;
  return true;
}

std::vector<std::size_t> StepExchange::block_sizes(std::int32_t world_size) {
  std::vector<std::size_t> sizes;
  if (capture_ != nullptr) {
    capture_->follow_counters(static_cast<std::size_t>(std::max(world_size, 1)));
    tail_ranks_ = static_cast<std::uint32_t>(
        std::clamp(world_size, 1, static_cast<std::int32_t>(kMaxLiveRanks)));
  }
  for (std::uint32_t slots = kMinSlots; slots <= kMaxSlots; slots *= 2)
    sizes.push_back(bytes_of_block(slots, tail_ranks_));
  return sizes;
}

void StepExchange::learn_layout() {
  const std::uint32_t version = hooks::places_version() + 1;
  Recorder* const recorder = hooks::recorder();
  if (version == layout_version_ || recorder == nullptr) return;
  const ProcessInfo info = recorder->info();
  layout_ = tensors::Layout::of(info.parallel, info.world_rank, info.world_size);
  layout_version_ = version;
  place_total_ = tensors::sum_of_places(layout_.world_size);
  if (capture_ == nullptr) return;
  capture_->set_layout(layout_);
  std::string place;
  for (const ParallelIndex& dimension : info.parallel)
    place += (place.empty() ? "" : ", ") + dimension.name + " " + std::to_string(dimension.index);
  capture_->place(place);
}

/// Determines the tensor's shard from the current layout.
void StepExchange::place(std::size_t index) {
  Tensor& tensor = tensors_[index];
  if (tensor.places_version == layout_version_) return;
  tensor.shard = tensors::shard_of({.name = tensor.name,
                                    .layer = tensor.layer,
                                    .kind = tensor.kind,
                                    .is_split = tensor.is_split,
                                    .split_group = tensor.split_group},
                                   layout_);
  tensor.places_version = layout_version_;
  by_key_[tensor.shard.key] = index;
}

/// Moves the tensors shown since the step began to `slots`, in block order.
void StepExchange::collect(std::vector<TensorSlot>& slots) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    Tensor& tensor = tensors_[i];
    if (!tensor.is_shown) continue;
    tensor.is_shown = false;
    place(i);
    if (!tensor.shard.is_known) {
      note(kNoGroup, tensor.name + " along " + tensor.split_group);
      continue;
    }
    name(tensor);
    slots.push_back({.key = tensor.shard.key,
                     .origin = tensor.shard.origin,
                     .owner = static_cast<std::uint32_t>(layout_.world_rank),
                     .parts = 1,
                     .wanted_parts = tensor.shard.parts,
                     .kind = static_cast<std::uint32_t>(tensor.kind),
                     .is_counted = tensor.is_counted ? 1U : 0U,
                     .statistics = tensor.statistics});
    if (tensor.statistics.nan_count + tensor.statistics.infinity_count != 0)
      slots.back().bad_rank = slots.back().owner;
  }
  std::ranges::sort(slots, {}, &TensorSlot::key);
  leave_out_doubles(slots);
  std::ranges::sort(slots, {}, &order_of);
}

/// Removes tensors that were shown with and without a split, or with two splits, in one step: their
/// parts do not form one global tensor.
void StepExchange::leave_out_doubles(std::vector<TensorSlot>& slots) {
  auto kept = slots.begin();
  for (auto at = slots.begin(); at != slots.end();) {
    const auto next = std::find_if(at, slots.end(),
                                   [&](const TensorSlot& slot) { return slot.key != at->key; });
    if (next - at == 1)
      *kept++ = *at;
    else
      note(kSplitTwice, tensors_[by_key_.at(at->key)].name);
    at = next;
  }
  slots.erase(kept, slots.end());
}

StepHeader StepExchange::own_header() {
  StepHeader header;
  header.slots = slots_;
  header.lowest_step = header.highest_step = reported_step_;
  header.lowest_next = header.highest_next = next_step_;
  header.flags = (is_spoiled_ ? kSpoiled : 0) | (layout_.is_whole() ? 0 : kBadPlaces);
  header.lowest_layout = header.highest_layout = layout_.hash();
  header.place_sum = tensors::hash_of_place(layout_.place());
  if (step_ns_ != 0) header.shortest_step_ns = header.longest_step_ns = step_ns_;
  own_ns_ += tensors_ns_.exchange(0, std::memory_order_relaxed);
  header.max_overhead_ns = own_ns_;
  header.max_wait_ns = wait_ns_;
  header.tail_ranks = tail_ranks_;
  header.begin_realtime_ns = reported_realtime_ns_;
  header.lowest_request = seen_request_;
  if (is_rank_0()) header.word = word_;
  return header;
}

void StepExchange::fill(std::span<std::byte> block) noexcept {
  try {
    learn_layout();
    std::vector<TensorSlot> slots;
    collect(slots);
    write_block(own_header(), slots, block);
    put_tail(block);
  } catch (const std::bad_alloc&) {
    fill_absent(block);
  }
  reported_step_ = step_;  // in case the next block is not preceded by a step
  next_step_ = kNoStep;
  is_spoiled_ = false;
  step_ns_ = own_ns_ = wait_ns_ = calls_ns_ = 0;
}

void StepExchange::fill_absent(std::span<std::byte> block) const noexcept {
  StepHeader header;
  header.slots = slots_;
  header.tail_ranks = tail_ranks_;
  header.flags = kAbsent;
  header.lowest_request = 0;
  header.word = word_;
  header.word.is_announced = is_rank_0() ? 1 : 0;
  write_block(header, {}, block);
  if (server_ == nullptr || tail_ranks_ == 0) return;
  // Rank 0's requests are part of every block it fills.
  set_capture_requests(tail_of(block), tail_ranks_, own_capture_requests_);
  set_request(tail_of(block), own_request_);
}

void StepExchange::spend(std::uint64_t own_ns, std::uint64_t wait_ns) noexcept {
  own_ns_ += own_ns;
  wait_ns_ += wait_ns;
}

void StepExchange::stop(const char* reason) noexcept {
  is_spoiled_ = has_stopped_ = true;
  own_capture_requests_.clear();  // on rank 0: the other ranks do not receive requests any more
  try {
    if (capture_ != nullptr) {
      capture_->set_capture_requests({});
      if (own_request_.number > settled_request_)
        fail_request("rank 0 left the step exchange before all ranks had the request: " +
                     std::string(reason));
      capture_->notify("rank " + std::to_string(layout_.world_rank) +
                       " stopped capturing: " + reason);
    }
    const std::lock_guard lock(mutex_);
    note(kStopped, reason);
  } catch (const std::bad_alloc&) {
  }
}

void StepExchange::apply(std::span<const std::byte> merged) noexcept {
  const ControlWord word = header_of(merged).word;
  if (word.is_announced == 0) return;
  slots_ = std::clamp(std::bit_ceil(word.slots), kMinSlots, kMaxSlots);
  try {
    if (capture_ != nullptr) apply_request(merged);
    if (capture_ != nullptr && !has_stopped_) apply_capture_requests(merged);
    if (capture_ != nullptr && word.lost_number != lost_number_ &&
        is_between(word.first_teller, layout_.world_rank, word.last_teller))
      report_again(word);
    lost_number_ = word.lost_number;
  } catch (const std::bad_alloc&) {
    hooks::refuse(LossCause::kRefused, "out of memory for the capture requests of the live view");
  }
  if (has_stopped_ || word.capture_number == captured_) return;
  captured_ = word.capture_number;
  hooks::also_keep(step_, static_cast<std::int64_t>(
                              std::min<std::uint64_t>(word.capture_count, std::uint64_t{1} << 62)));
}

/// Rank 0's decisions, from the merged block.
void StepExchange::decide(const StepHeader& header, bool has_bad_element) {
  if (has_bad_element && capture_count_ != 0 && word_.capture_number == 0) {
    word_.capture_number = 1;
    word_.capture_count = capture_count_;
  }
  max_used_ = std::max(max_used_, header.used);
  constexpr std::uint64_t kTimeout = 8;
  if (max_used_ == 0 && facts_.steps < kTimeout)
    return;  // no tensors so far; keep the initial number of slots, as many tensors may follow
  const std::uint64_t dropped = header.dropped + header.dropped_live;
  const std::uint64_t wanted = dropped != 0 ? header.used + dropped : max_used_;
  word_.slots = std::bit_ceil(
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, kMinSlots, kMaxSlots)));
}

}  // namespace megascope::steps
