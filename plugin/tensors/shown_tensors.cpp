#include "plugin/tensors/shown_tensors.h"

#include "core/hooks/refusals.h"

#include <new>

namespace megascope::tensors {
namespace {

constexpr std::string_view kTensorParallel = "tp";
constexpr std::size_t kMaxTensors = 65'536;

}  // namespace

void ShownTensors::add(const TensorView& tensor, const kernels::TensorStatistics& statistics,
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
      if (tensors_.size() >= kMaxTensors)
        return missing_.note(MissingStatistics::kNoSpace, std::string(tensor.name));
      Tensor& made = tensors_.emplace_back(Tensor{.name = std::string(tensor.name),
                                                  .layer = tensor.shape.layer,
                                                  .kind = tensor.shape.kind,
                                                  .is_split = is_split,
                                                  .split_group = std::string(group)});
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

/// Determines the tensor's shard from the layout. Returns whether the tensor was shown and belongs
/// to a global tensor.
bool ShownTensors::place(std::size_t index, const OwnLayout& layout) {
  Tensor& tensor = tensors_[index];
  if (!tensor.is_shown) return false;
  tensor.is_shown = false;
  if (tensor.shard_version != layout.version()) {
    tensor.shard = shard_of({.name = tensor.name,
                             .layer = tensor.layer,
                             .kind = tensor.kind,
                             .is_split = tensor.is_split,
                             .split_group = tensor.split_group},
                            layout.layout());
    tensor.shard_version = layout.version();
    by_key_[tensor.shard.key] = index;
  }
  if (!tensor.shard.is_known)
    missing_.note(MissingStatistics::kNoGroup, tensor.name + " along " + tensor.split_group);
  return tensor.shard.is_known;
}

void ShownTensors::forget_names() {
  const std::lock_guard lock(mutex_);
  for (Tensor& tensor : tensors_) tensor.named_version = 0;
}

void ShownTensors::note_split_twice(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  missing_.note(MissingStatistics::kSplitTwice, tensors_[by_key_.at(key)].name);
}

/// Call with mutex_ held.
void ShownTensors::record_one(const WholeTensor& whole) {
  const auto found = by_key_.find(whole.key);
  if (found == by_key_.end()) return;
  Tensor& tensor = tensors_[found->second];
  if (!tensor.is_counted) return;
  if (whole.parts != whole.wanted_parts) {
    return missing_.note(MissingStatistics::kPartsMissing,
                         tensor.name + ", " + std::to_string(whole.parts) + " of " +
                             std::to_string(whole.wanted_parts));
  }
  if (tensor.counters_version != tensor.shard_version) {
    const std::string apart = tensor.shard.apart.empty() ? std::string() : tensor.shard.apart + "/";
    tensor.counters = define_counters(counter_prefix(tensor.name, tensor.layer, tensor.kind) +
                                      apart + "global ");
    tensor.counters_version = tensor.shard_version;
  }
  set_counters(tensor.counters, values_of(whole.statistics));
}

}  // namespace megascope::tensors
