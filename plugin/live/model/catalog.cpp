#include "plugin/live/model/catalog.h"

#include "plugin/tensors/tensor_choice.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace megascope::live {
namespace {

constexpr std::size_t kMaxLearned = 4 * kMaxEntries;

bool is_like_any(std::string_view name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return tensors::matches(pattern, name); });
}

}  // namespace

std::optional<std::uint32_t> TensorCatalog::find(std::uint64_t key) const {
  const auto found = ids_.find(key);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> TensorCatalog::id_of(std::uint64_t key) {
  if (const std::optional<std::uint32_t> known = find(key)) return known;
  if (tensors_.size() >= kMaxEntries) return std::nullopt;
  const auto id = static_cast<std::uint32_t>(tensors_.size());
  tensors_.emplace_back().name.key = key;
  ids_.emplace(key, id);
  return id;
}

void TensorCatalog::learn(const capture::TensorName& name) {
  const std::optional<std::uint32_t> id = id_of(name.key);
  if (!id) return;
  KnownTensor& known = tensors_[*id];
  const bool is_news = !known.is_named || (known.name.shape != name.shape && !name.shape.empty());
  if (!is_news || learned_.size() >= kMaxLearned) return;
  known.name = name;
  known.is_named = true;
  learned_.push_back(*id);
}

nlohmann::json TensorCatalog::json_of(std::uint32_t id) const {
  const capture::TensorName& name = tensors_[id].name;
  return {{"id", id},
          {"name", name.name},
          {"kind", kTensorKindNames[static_cast<std::size_t>(name.kind)]},
          {"layer", name.layer},
          {"shape", name.shape},
          {"dtype", kElementTypeNames[static_cast<std::size_t>(name.type)]}};
}

bool TensorCatalog::matches(std::uint32_t id, const Subscribe& subscribe) const {
  const KnownTensor& known = tensors_[id];
  const bool is_kind = subscribe.kinds.empty() ||
                       std::ranges::find(subscribe.kinds, known.name.kind) != subscribe.kinds.end();
  return known.is_named && is_kind && known.name.layer >= subscribe.first_layer &&
         known.name.layer <= subscribe.last_layer && is_like_any(known.name.name, subscribe.names);
}

std::optional<std::uint32_t> CounterCatalog::id_of(std::int32_t world_rank,
                                                   std::uint32_t counter) const {
  const auto found = ids_.find({world_rank, counter});
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

void CounterCatalog::learn(std::int32_t world_rank, const capture::CounterName& name) {
  if (counters_.size() >= kMaxEntries) return;
  const auto [at, is_new] = ids_.try_emplace({world_rank, name.id},
                                             static_cast<std::uint32_t>(counters_.size()));
  if (is_new) counters_.push_back({.name = name.name, .unit = name.unit, .world_rank = world_rank});
}

bool CounterCatalog::set(std::uint32_t id, double value, bool is_past) {
  KnownCounter& counter = counters_[id];
  if (is_past && counter.has_new) return false;
  counter.value = value;
  counter.has_new = !is_past;
  const bool is_bad = !std::isfinite(value);
  return !std::exchange(counter.is_alerted, is_bad) && is_bad;
}

nlohmann::json CounterCatalog::json_of(std::uint32_t id) const {
  const KnownCounter& counter = counters_[id];
  return {{"id", id}, {"name", counter.name}, {"rank", counter.world_rank}, {"unit", counter.unit}};
}

bool CounterCatalog::matches(std::uint32_t id, const Subscribe& subscribe) const {
  return is_like_any(counters_[id].name, subscribe.names);
}

}  // namespace megascope::live
