#pragma once

#include "plugin/live/bounds.h"
#include "plugin/live/requests.h"
#include "plugin/tensors/letter.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What tensors and counters there are, under the ids that clients see: 0, 1, … as they were first
/// heard of. One thread.
namespace megascope::live {

struct KnownTensor {
  tensors::TensorName name;
  bool is_named = false;  ///< false: its name did not come yet
};

/// At most kMostEntries.
class TensorCatalog {
 public:
  /// nullopt: there is no more room.
  std::optional<std::uint32_t> id_of(std::uint64_t key);
  /// nullopt: it was not heard of.
  std::optional<std::uint32_t> find(std::uint64_t key) const;
  void learn(const tensors::TensorName& name);
  const KnownTensor& operator[](std::uint32_t id) const { return tensors_[id]; }
  std::size_t size() const { return tensors_.size(); }
  /// Ids in the order in which something was learned of them: a reader goes on where it was.
  const std::vector<std::uint32_t>& learned() const { return learned_; }
  nlohmann::json json_of(std::uint32_t id) const;
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
  std::optional<double> value{};  ///< the last one
  bool is_alerted = false;        ///< the last one is no finite number
  bool has_new = false;  ///< it was set since somebody looks: what is past does not replace it
};

/// At most kMostEntries.
class CounterCatalog {
 public:
  /// As the rank numbers it; nullopt: its name did not come.
  std::optional<std::uint32_t> id_of(std::int32_t world_rank, std::uint32_t counter) const;
  void learn(std::int32_t world_rank, const tensors::CounterName& name);
  /// is_past: of the time before somebody looked, in order.
  /// True: it is not finite any more.
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
