#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "kernels/tensor_statistics.h"
#include "plugin/tensors/counter_names.h"
#include "plugin/tensors/missing_statistics.h"
#include "plugin/tensors/own_layout.h"
#include "plugin/tensors/shards.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace megascope::tensors {

/// Collects the statistics of this process's parts of tensors until the exchange at the next step
/// boundary takes them. If a tensor is shown twice in a step, both statistics are merged. Also
/// records the statistics over all ranks, which the exchange returns. Any thread may call add() and
/// add_time(). Only the thread that begins steps may call the other functions.
class ShownTensors {
 public:
  /// A tensor of one name, layer, kind and split.
  struct Tensor {
    std::string name;
    std::int32_t layer = kNoLayer;
    TensorKind kind = TensorKind::kOther;
    bool is_split = false;
    std::string split_group{};
    /// OwnLayout::version() for which `shard` is valid; 0: `shard` was never set.
    std::uint32_t shard_version = 0;
    Shard shard{};
    /// OwnLayout::version() for which `counters` is valid; 0: `counters` was never set.
    std::uint32_t counters_version = 0;
    Counters counters{};
    bool is_shown = false;    ///< the tensor was added since the last take()
    bool is_counted = false;  ///< results are recorded as counters of the trace
    /// OwnLayout::version() for which rank 0 has the tensor's name; 0: rank 0 does not have it.
    std::uint32_t named_version = 0;
    TensorShape shape{};                     ///< of the latest call that showed it
    kernels::TensorStatistics statistics{};  ///< since the last take()
  };

  /// Statistics of a tensor over all ranks.
  struct WholeTensor {
    std::uint64_t key = 0;           ///< Shard::key
    std::uint32_t parts = 0;         ///< ranks whose parts are merged
    std::uint32_t wanted_parts = 0;  ///< ranks that hold a part
    const kernels::TensorStatistics& statistics;
  };

  /// missing: counts tensors whose statistics over all ranks are not available. Must outlive this
  /// object.
  explicit ShownTensors(MissingStatistics& missing) : missing_(missing) {}

  /// Adds this process's part of a tensor. is_counted: as Tensor::is_counted. If memory runs out,
  /// the part is counted as refused.
  void add(const TensorView& tensor, const kernels::TensorStatistics& statistics,
           bool is_counted) noexcept;
  /// Adds time spent on tensors inside the application's calls.
  void add_time(std::uint64_t own_ns) noexcept {
    own_ns_.fetch_add(own_ns, std::memory_order_relaxed);
  }

  /// Calls use(Tensor&) for each tensor that was added since the last call and whose shard is known
  /// (Shard::is_known). `use` must not call this object. Throws std::bad_alloc.
  template <class Use>
  void take(const OwnLayout& layout, const Use& use) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (place(i, layout)) use(tensors_[i]);
    }
  }
  std::uint64_t take_time() noexcept { return own_ns_.exchange(0, std::memory_order_relaxed); }
  /// Marks all names as unknown to rank 0.
  void forget_names();
  /// Counts a tensor that was shown with two different splits in one step, so that its parts do not
  /// form one global tensor. key: Shard::key of a tensor that take() passed to `use`.
  void note_split_twice(std::uint64_t key);
  /// Records statistics over all ranks as counters "<name>[/layer <l>]/<kind>/global <what>".
  /// for_each: is called once with a function `record`, and calls record(const WholeTensor&) for
  /// each tensor. Tensors that this process has not shown are ignored. `for_each` must not call
  /// this object. Throws std::bad_alloc.
  template <class ForEach>
  void record(const ForEach& for_each) {
    const std::lock_guard lock(mutex_);
    for_each([this](const WholeTensor& tensor) { record_one(tensor); });
  }

 private:
  using Identity = std::tuple<TensorId, std::int32_t, TensorKind, bool, std::string_view>;

  bool place(std::size_t index, const OwnLayout& layout);
  void record_one(const WholeTensor& whole);

  std::mutex mutex_;  ///< guards tensors_, by_identity_ and by_key_
  std::deque<Tensor> tensors_;
  std::map<Identity, std::size_t> by_identity_;
  std::unordered_map<std::uint64_t, std::size_t> by_key_;  ///< by Shard::key
  std::atomic<std::uint64_t> own_ns_{0};
  MissingStatistics& missing_;
};

}  // namespace megascope::tensors
