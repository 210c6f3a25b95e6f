#include "plugin/steps/step_exchange.h"

#include "core/base/clock.h"
#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"

#include <algorithm>
#include <bit>
#include <new>

namespace megascope::steps {
namespace {

TensorSlot slot_with(const tensors::ShownTensors::Tensor& tensor, std::uint32_t world_rank) {
  TensorSlot slot{.key = tensor.shard.key,
                  .origin = tensor.shard.origin,
                  .owner = world_rank,
                  .parts = 1,
                  .wanted_parts = tensor.shard.parts,
                  .kind = static_cast<std::uint32_t>(tensor.kind),
                  .is_counted = tensor.is_counted ? 1U : 0U,
                  .statistics = tensor.statistics};
  if (tensor.statistics.nan_count + tensor.statistics.infinity_count != 0)
    slot.bad_rank = slot.owner;
  return slot;
}

}  // namespace

StepExchange::StepExchange(bool has_tensors, std::uint64_t capture_count, capture::Capture* capture)
    : slots_(has_tensors ? kFirstSlots : kMinSlots), decisions_(slots_, capture_count) {
  if (capture != nullptr) live_.emplace(*capture, shown_, times_);
}

void StepExchange::serve(LiveServer* server) noexcept {
  if (live_) live_->serve(server);
}

void StepExchange::suspend_after(std::uint64_t ns) noexcept {
  if (live_) live_->suspend_after(ns);
}

std::vector<std::size_t> StepExchange::block_sizes(std::int32_t world_size) {
  if (live_) live_->open(world_size);
  std::vector<std::size_t> sizes;
  for (std::uint32_t slots = kMinSlots; slots <= kMaxSlots; slots *= 2)
    sizes.push_back(bytes_of_block(slots, tail_ranks()));
  return sizes;
}

bool StepExchange::begin(std::int64_t step) noexcept {
  if (step <= times_.step) {
    times_.is_spoiled = true;
    return false;
  }
  if (live_) live_->read_counters();
  const std::uint64_t now_ns = clock::monotonic_ns();
  times_.begin(step, now_ns, live_ ? clock::realtime_ns() : 0);
  if (live_) live_->resume();
  return true;
}

/// Returns the tensors shown since the step began, in block order.
std::vector<TensorSlot> StepExchange::collect() {
  std::vector<TensorSlot> slots;
  shown_.take(layout_, [&](tensors::ShownTensors::Tensor& tensor) {
    if (live_) live_->name(tensor, layout_);
    slots.push_back(slot_with(tensor, layout_.world_rank()));
  });
  std::ranges::sort(slots, {}, &TensorSlot::key);
  leave_out_doubles(slots);
  std::ranges::sort(slots, {}, &order_of);
  return slots;
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
      shown_.note_split_twice(at->key);
    at = next;
  }
  slots.erase(kept, slots.end());
}

StepHeader StepExchange::own_header() {
  StepHeader header;
  header.slots = slots_;
  header.lowest_step = header.highest_step = times_.reported_step;
  header.lowest_next = header.highest_next = times_.next_step;
  header.flags = (times_.is_spoiled ? kSpoiled : 0) |
                 (layout_.layout().is_whole() ? 0 : kBadPlaces);
  header.lowest_layout = header.highest_layout = layout_.layout().hash();
  header.place_sum = tensors::hash_of_place(layout_.layout().place());
  if (times_.step_ns != 0) header.shortest_step_ns = header.longest_step_ns = times_.step_ns;
  times_.own_ns += shown_.take_time();
  header.max_overhead_ns = times_.own_ns;
  header.max_wait_ns = times_.wait_ns;
  header.tail_ranks = tail_ranks();
  header.begin_realtime_ns = times_.reported_realtime_ns;
  header.lowest_request = live_ ? live_->received_request() : 0;
  if (layout_.is_rank_0()) header.word = decisions_.word();
  return header;
}

void StepExchange::fill(std::span<std::byte> block) noexcept {
  try {
    if (layout_.update() && live_) live_->set_layout(layout_);
    const std::vector<TensorSlot> slots = collect();
    write_block(own_header(), slots, block);
    if (live_) live_->put_tail(block, layout_.world_rank(), decisions_.word());
  } catch (const std::bad_alloc&) {
    fill_absent(block);
  }
  times_.end_block();
}

void StepExchange::fill_absent(std::span<std::byte> block) const noexcept {
  StepHeader header;
  header.slots = slots_;
  header.tail_ranks = tail_ranks();
  header.flags = kAbsent;
  header.lowest_request = 0;
  header.word = decisions_.word();
  header.word.is_announced = layout_.is_rank_0() ? 1 : 0;
  write_block(header, {}, block);
  if (live_) live_->put_absent_tail(block);
}

void StepExchange::add_overhead(std::uint64_t own_ns, std::uint64_t wait_ns) noexcept {
  times_.own_ns += own_ns;
  times_.wait_ns += wait_ns;
}

void StepExchange::stop(const char* reason) noexcept {
  times_.is_spoiled = has_stopped_ = true;
  try {
    if (live_) live_->stop(reason, layout_.world_rank());
    missing_.note(Missing::kStopped, reason);
  } catch (const std::bad_alloc&) {
  }
}

void StepExchange::apply(std::span<const std::byte> merged) noexcept {
  const ControlWord word = header_of(merged).word;
  if (word.is_announced == 0) return;
  slots_ = std::clamp(std::bit_ceil(word.slots), kMinSlots, kMaxSlots);
  try {
    if (live_) live_->apply(merged, word, layout_.world_rank());
  } catch (const std::bad_alloc&) {
    hooks::refuse(LossCause::kRefused, "out of memory for the capture requests of the live view");
  }
  if (has_stopped_ || word.capture_number == captured_) return;
  captured_ = word.capture_number;
  hooks::also_keep(times_.step, static_cast<std::int64_t>(std::min<std::uint64_t>(
                                    word.capture_count, std::uint64_t{1} << 62)));
}

/// Why the statistics of a step are incomplete; nullopt: they are complete.
std::optional<tensors::MissingStatistics::Reason> StepExchange::problem_of(
    const StepHeader& header) const {
  if ((header.flags & kAbsent) != 0) return Missing::kRanksAbsent;
  if ((header.flags & kSpoiled) != 0) return Missing::kBackwards;
  if (header.lowest_step != header.highest_step || header.lowest_next != header.highest_next)
    return Missing::kStepsDiffer;
  if ((header.flags & kBadPlaces) != 0) return Missing::kWrongSize;
  if (header.lowest_layout != header.highest_layout || header.place_sum != layout_.place_total())
    return Missing::kGroupsDiffer;
  return std::nullopt;
}

void StepExchange::note_unusable_step(Missing::Reason reason, const StepHeader& header) {
  const bool is_one_step = header.lowest_step >= header.highest_step;
  missing_.note(reason, is_one_step ? "step " + std::to_string(header.highest_step)
                                    : "steps " + std::to_string(header.lowest_step) + " and " +
                                          std::to_string(header.highest_step));
}

void StepExchange::handle(std::span<const std::byte> merged) noexcept {
  const StepHeader header = header_of(merged);
  if (live_) live_->deliver(merged);
  try {
    // The statistics belong to a step that may be recorded even if the current one is not.
    std::optional<hooks::KeptWhile> kept;
    if (header.used != 0) kept.emplace();
    bool has_bad_element = false;
    for (std::uint32_t i = 0; i < header.used; ++i) {
      const TensorSlot slot = slot_of(merged, i);
      has_bad_element = has_bad_element ||
                        (slot.is_counted != 0 &&
                         slot.statistics.nan_count + slot.statistics.infinity_count != 0);
    }
    const std::optional<Missing::Reason> problem = problem_of(header);
    if (layout_.is_rank_0()) {
      results_.count(!problem);
      decisions_.decide(header, has_bad_element, results_.facts().steps);
      results_.record_times(header);
    }
    if (!problem) {
      record_tensors(merged, header);
      if (layout_.is_rank_0()) results_.record_models(merged, header);
    } else if (layout_.is_rank_0()) {
      note_unusable_step(*problem, header);
    }
  } catch (const std::bad_alloc&) {
    // This block is ignored: results are not recorded and rank 0 makes no decision.
  }
}

void StepExchange::record_tensors(std::span<const std::byte> merged, const StepHeader& header) {
  if (header.dropped != 0 && layout_.is_rank_0())
    missing_.note(Missing::kNoSpace, "step " + std::to_string(header.highest_step));
  shown_.record([&](const auto& record) {
    for (std::uint32_t i = 0; i < header.used; ++i) {
      const TensorSlot slot = slot_of(merged, i);
      if (slot.owner == layout_.world_rank())
        record({slot.key, slot.parts, slot.wanted_parts, slot.statistics});
    }
  });
}

}  // namespace megascope::steps
