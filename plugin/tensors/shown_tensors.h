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

/// Statistics of this process's parts of tensors, until the exchange at the next step boundary
/// takes them; a tensor shown twice is merged twice. Also records the statistics of the whole
/// tensors. add() and add_time(): any thread. Everything else: the thread that begins steps.
class ShownTensors {
 public:
  /// A tensor of one name, layer, kind and split.
  struct Tensor {
    std::string name;
    std::int32_t layer = kNoLayer;
    TensorKind kind = TensorKind::kOther;
    bool is_split = false;
    std::string split_group{};
    std::uint32_t shard_version = 0;  ///< layout version of `shard`; 0: none
    Shard shard{};
    std::uint32_t counters_version = 0;  ///< layout version of `counters`; 0: none
    Counters counters{};
    bool is_shown = false;            ///< since the last take()
    bool is_counted = false;          ///< results are recorded as counters of the trace
    std::uint32_t named_version = 0;  ///< layout version of the name that rank 0 has; 0: none
    TensorShape shape{};              ///< of the latest call that showed it
    kernels::TensorStatistics statistics{};  ///< since the last take()
  };

  /// Statistics of a tensor over all ranks.
  struct WholeTensor {
    std::uint64_t key = 0;           ///< Shard::key
    std::uint32_t parts = 0;         ///< ranks whose parts are merged
    std::uint32_t wanted_parts = 0;  ///< ranks that hold a part
    const kernels::TensorStatistics& statistics;
  };

  /// missing: receives tensors whose statistics over all ranks are not available. Must outlive this
  /// object.
  explicit ShownTensors(MissingStatistics& missing) : missing_(missing) {}

  /// Adds this process's part of a tensor. is_counted: as Tensor::is_counted. Without memory, the
  /// part is counted as refused.
  void add(const TensorView& tensor, const kernels::TensorStatistics& statistics,
           bool is_counted) noexcept;
  /// Adds time spent on tensors inside the application's calls.
  void add_time(std::uint64_t own_ns) noexcept {
    own_ns_.fetch_add(own_ns, std::memory_order_relaxed);
  }

  /// Calls use(Tensor&) for each tensor that was added since the last call and belongs to a global
  /// tensor. `use` must not call this object. Throws std::bad_alloc.
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
  /// Notes a tensor whose parts do not form one global tensor. key: Shard::key of a known tensor.
  void note_split_twice(std::uint64_t key);
  /// Records statistics over all ranks as counters "<name>[/layer <l>]/<kind>/global <what>".
  /// for_each(record): calls record(const WholeTensor&) for each tensor; keys of other ranks'
  /// tensors are ignored. `for_each` must not call this object. Throws std::bad_alloc.
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
