#pragma once

#include "plugin/capture/rank_update.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/protocol/requests.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The known tensors and counters, with the ids that clients see: 0, 1, … in order of first
/// appearance. One thread.
namespace megascope::live {

struct KnownTensor {
  capture::TensorName name;
  bool is_named = false;  ///< false: the name has not arrived yet
};

/// At most kMaxEntries tensors.
class TensorCatalog {
 public:
  /// Returns the tensor's id. Adds the tensor if it is new. Returns nullopt if the catalog is full.
  std::optional<std::uint32_t> id_of(std::uint64_t key);
  /// Returns the tensor's id; nullopt if it is not in the catalog.
  std::optional<std::uint32_t> find(std::uint64_t key) const;
  /// Sets the name of a tensor.
  void learn(const capture::TensorName& name);
  const KnownTensor& operator[](std::uint32_t id) const { return tensors_[id]; }
  std::size_t size() const { return tensors_.size(); }
  /// Returns the ids in the order in which names arrived. A tensor whose shape changes appears
  /// again. Readers remember how many entries they have read.
  const std::vector<std::uint32_t>& learned() const { return learned_; }
  /// The entry of a tensor in the message `tensors`.
  nlohmann::json json_of(std::uint32_t id) const;
  /// Whether the tensor is selected by the subscription.
  bool matches(std::uint32_t id, const Subscribe& subscribe) const;

 private:
  std::map<std::uint64_t, std::uint32_t> ids_;
  std::vector<KnownTensor> tensors_;
  std::vector<std::uint32_t> learned_;
};

struct KnownCounter {
  std::string name;
  std::string unit;
  std::int32_t world_rank = 0;
  std::optional<double> value{};  ///< the latest value
  bool is_alerted = false;        ///< the latest value is not finite
  bool has_new = false;           ///< has a current value, so past values must not replace it
};

/// At most kMaxEntries counters.
class CounterCatalog {
 public:
  /// Returns the counter's id. counter: CounterId on the rank `world_rank`. Returns nullopt if its
  /// name has not arrived.
  std::optional<std::uint32_t> id_of(std::int32_t world_rank, std::uint32_t counter) const;
  void learn(std::int32_t world_rank, const capture::CounterName& name);
  /// Sets the value. is_past: whether it was set before a client requested the counter. Past values
  /// arrive in step order and do not replace a current value. Returns true if the value is not
  /// finite and the previous value was.
  bool set(std::uint32_t id, double value, bool is_past);
  const KnownCounter& operator[](std::uint32_t id) const { return counters_[id]; }
  std::size_t size() const { return counters_.size(); }
  nlohmann::json json_of(std::uint32_t id) const;
  bool matches(std::uint32_t id, const Subscribe& subscribe) const;

 private:
  std::map<std::pair<std::int32_t, std::uint32_t>, std::uint32_t> ids_;
  std::vector<KnownCounter> counters_;
};

}  // namespace megascope::live
