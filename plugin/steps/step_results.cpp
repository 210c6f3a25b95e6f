#include "core/hooks/hooks.h"
#include "plugin/steps/step_exchange.h"

#include <algorithm>
#include <new>

/// What StepExchange hears: whether it can be used, and where it is told.
namespace megascope::steps {

void StepExchange::note(Problem problem, const std::string& example) {
  Complaint& complaint = complaints_[problem];
  if (complaint.count++ == 0) complaint.example = example;
}

/// Why the statistics of a step are incomplete; nullopt: they are complete.
std::optional<StepExchange::Problem> StepExchange::problem_of(const StepHeader& header) {
  if ((header.flags & kAbsent) != 0) return kRanksAbsent;
  if ((header.flags & kSpoiled) != 0) return kBackwards;
  if (header.lowest_step != header.highest_step || header.lowest_next != header.highest_next)
    return kStepsDiffer;
  if ((header.flags & kBadPlaces) != 0) return kWrongSize;
  if (header.lowest_layout != header.highest_layout || header.place_sum != place_total_)
    return kGroupsDiffer;
  return std::nullopt;
}

void StepExchange::handle(std::span<const std::byte> merged) noexcept {
  const StepHeader header = header_of(merged);
  if (server_ != nullptr) (void)server_->take(LiveKind::kBlock, 0, merged);
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
    const std::optional<Problem> problem = problem_of(header);
    if (is_rank_0()) {
      ++facts_.steps;
      facts_.skipped += problem ? 1 : 0;
      decide(header, has_bad_element);
      report_times(header);
    }
    if (!problem) {
      report_tensors(merged, header);
      if (is_rank_0()) report_models(merged, header);
    } else if (is_rank_0()) {
      const bool is_one_step = header.lowest_step == header.highest_step ||
                               header.lowest_step > header.highest_step;
      const std::lock_guard lock(mutex_);
      note(*problem, is_one_step ? "step " + std::to_string(header.highest_step)
                                 : "steps " + std::to_string(header.lowest_step) + " and " +
                                       std::to_string(header.highest_step));
    }
  } catch (const std::bad_alloc&) {
    // This block is ignored: results are not recorded and rank 0 makes no decision.
  }
}

/// Records durations that the block has: of the step before and of the boundary before, as maxima
/// over ranks.
void StepExchange::report_times(const StepHeader& header) {
  facts_.own_ns += header.max_overhead_ns;
  facts_.wait_ns += header.max_wait_ns;
  if (header.longest_step_ns == 0) return;
  facts_.step_ns += header.longest_step_ns;
  if (!has_time_counters_)
    time_counters_ = {hooks::counter("step/longest", "ms"), hooks::counter("step/shortest", "ms")};
  has_time_counters_ = true;
  hooks::count(time_counters_[0], static_cast<double>(header.longest_step_ns) * 1e-6);
  hooks::count(time_counters_[1], static_cast<double>(header.shortest_step_ns) * 1e-6);
}

void StepExchange::report_tensors(std::span<const std::byte> merged, const StepHeader& header) {
  const std::lock_guard lock(mutex_);
  if (header.dropped != 0 && is_rank_0())
    note(kNoSpace, "step " + std::to_string(header.highest_step));
  for (std::uint32_t i = 0; i < header.used; ++i) {
    const TensorSlot slot = slot_of(merged, i);
    if (slot.owner == static_cast<std::uint32_t>(layout_.world_rank)) report_tensor(slot);
  }
}

void StepExchange::report_tensor(const TensorSlot& slot) {
  const auto found = by_key_.find(slot.key);
  if (found == by_key_.end()) return;
  Tensor& tensor = tensors_[found->second];
  if (!tensor.is_counted) return;
  if (slot.parts != slot.wanted_parts) {
    return note(kPartsMissing, tensor.name + ", " + std::to_string(slot.parts) + " of " +
                                   std::to_string(slot.wanted_parts));
  }
  if (tensor.counters_version != tensor.places_version) {
    const std::string apart = tensor.shard.apart.empty() ? std::string() : tensor.shard.apart + "/";
    tensor.counters = tensors::define_counters(
        tensors::counter_prefix(tensor.name, tensor.layer, tensor.kind) + apart + "global ");
    tensor.counters_version = tensor.places_version;
  }
  tensors::set_counters(tensor.counters, tensors::values_of(slot.statistics));
}

/// Records statistics over all tensors of each kind of is_of_model(), if no tensor is missing.
void StepExchange::report_models(std::span<const std::byte> merged, const StepHeader& header) {
  std::map<TensorKind, kernels::TensorStatistics> totals;
  if (header.dropped != 0) return;
  for (std::uint32_t i = 0; i < header.used; ++i) {
    const TensorSlot slot = slot_of(merged, i);
    const auto kind = static_cast<TensorKind>(slot.kind);
    if (slot.kind >= static_cast<std::uint32_t>(TensorKind::kCount) ||
        !tensors::is_of_model(kind) || slot.is_counted == 0)
      continue;
    if (slot.parts != slot.wanted_parts) return;
    totals[kind].merge(slot.statistics);
  }
  for (const auto& [kind, total] : totals) {
    const auto [counters, is_new] = model_counters_.try_emplace(kind);
    if (is_new)
      counters->second = tensors::define_counters(tensors::counter_prefix("all", kNoLayer, kind) +
                                                  "global ");
    tensors::set_counters(counters->second, tensors::values_of(total));
  }
}

std::vector<std::string> StepExchange::notes() const {
  static constexpr const char* kSentences[kProblemCount] = {
      "ranks were in different steps when they reported statistics",
      "step numbers of a rank did not increase",
      "the sizes of the annotated parallel groups do not multiply to the number of ranks",
      "ranks disagree on the parallel groups, or two ranks have the same coordinates",
      "ranks annotated different numbers of steps",
      "parts of a tensor were not reported",
      "too many tensors for one step exchange",
      "a tensor is split along a group that was not annotated",
      "a tensor was reported with two different splits in one step",
      "a rank stopped reporting statistics"};
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < kProblemCount; ++i) {
    const Complaint& complaint = complaints_[i];
    if (complaint.count == 0) continue;
    if (i == kStopped) {
      sentences.push_back("rank " + std::to_string(layout_.world_rank) +
                          " stopped reporting statistics over all ranks: " + complaint.example);
      continue;
    }
    sentences.push_back("statistics over all ranks are missing " + std::to_string(complaint.count) +
                        (complaint.count == 1 ? " time: " : " times: ") + kSentences[i] + " (" +
                        (complaint.count == 1 ? "" : "first: ") + complaint.example + ")");
  }
  return sentences;
}

}  // namespace megascope::steps
