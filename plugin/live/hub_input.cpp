#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "plugin/live/hub.h"

/// What the ranks tell.
namespace megascope::live {
namespace {

constexpr std::size_t kMostEvents = 1000;
constexpr std::size_t kMostEventText = 512;
constexpr std::uint64_t kMostViewCells = kMostFrameBytes / 2;  ///< as f16

std::array<double, kStatisticsColumns.size()> columns_of(const kernels::TensorStatistics& found) {
  return {static_cast<double>(found.count), static_cast<double>(found.nan_count), static_cast<double>(found.infinity_count), found.min, found.max,
          found.mean(), found.norm()};
}

std::string dumped(const nlohmann::json& message) { return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace

void Hub::take_block(std::span<const std::byte> block) {
  std::optional<BlockFacts> facts = facts_of(block, store_.ranks);
  if (!facts) return;
  ++steps_;
  if (facts->has_statistics) add_statistics(*facts);
  else count_drop("steps without statistics, as ranks disagreed on them", 1);
  if (facts->dropped != 0) count_drop("tensors for which a step's statistics had no room", facts->dropped);
  store_.history.steps.add(std::move(facts->times));
}

void Hub::add_statistics(const BlockFacts& facts) {
  for (const tensors::TensorSlot& slot : facts.slots) {
    const std::optional<std::uint32_t> id = slot.parts == slot.wanted_parts ? store_.tensors.id_of(slot.key) : std::nullopt;
    if (!id) {
      count_drop(slot.parts == slot.wanted_parts ? "tensors beyond the most that are kept" : "statistics of tensors of which parts were missing", 1);
      continue;
    }
    store_.history.statistics.add({.step = facts.times.step, .id = *id, .values = columns_of(slot.statistics)});
    if (is_alerted_.size() <= *id) is_alerted_.resize(*id + std::size_t{1});
    const bool is_bad = slot.statistics.nan_count + slot.statistics.infinity_count != 0;
    if (is_bad && !is_alerted_[*id]) alert(facts.times.step, slot, *id);
    is_alerted_[*id] = is_bad;
  }
}

void Hub::alert(std::int64_t step, const tensors::TensorSlot& slot, std::uint32_t id) {
  const KnownTensor& tensor = store_.tensors[id];
  const std::string layer = tensor.name.layer == kNoLayer ? std::string() : ", layer " + std::to_string(tensor.name.layer);
  const std::string name = tensor.is_named ? tensor.name.name + layer : "a tensor whose name did not come yet";
  const std::string text = name + ": " + std::to_string(slot.statistics.nan_count) + " NaN, " + std::to_string(slot.statistics.infinity_count) +
                           " infinite of " + std::to_string(slot.statistics.count);
  announce(dumped({{"type", "alert"}, {"step", step}, {"ranks", {slot.bad_rank}}, {"text", text}, {"tensor", id}}));
}

void Hub::announce(std::string text) {
  events_.push_back(std::move(text));
  if (events_.size() <= kMostEvents) return;
  events_.pop_front();
  ++first_event_;
}

void Hub::take_letter(std::int32_t world_rank, std::span<const std::byte> letter, std::int64_t now_ns) {
  tensors::LetterReader reader(letter);
  std::vector<ViewPointer> whole;
  using Item = tensors::LetterReader::Item;
  for (Item item = reader.next(); item != Item::kEnd; item = reader.next()) {
    switch (item) {
      case Item::kTensorName: store_.tensors.learn(reader.tensor_name); break;
      case Item::kCounterName: store_.counters.learn(world_rank, reader.counter_name); break;
      case Item::kCounterReadings: add_readings(world_rank, reader.counter_readings); break;
      case Item::kInterval: add_interval(world_rank, reader.interval); break;
      case Item::kNotice: notify(reader.notice); break;
      case Item::kRankFacts: learn_rank(world_rank, reader.rank_facts); break;
      case Item::kViewPart: add_part(world_rank, std::move(reader.view_part), now_ns, whole); break;
      default: count_drop("letters of ranks that were damaged", 1); return shelve(whole);
    }
  }
  shelve(whole);
}

void Hub::learn_rank(std::int32_t world_rank, const tensors::RankFacts& facts) {
  const auto at = std::ranges::lower_bound(settings_.ranks, world_rank, {}, &LiveRank::world_rank);
  const bool is_known = at != settings_.ranks.end() && at->world_rank == world_rank;
  LiveRank& rank = is_known ? *at : *settings_.ranks.insert(at, LiveRank{});
  rank = {.world_rank = world_rank, .host = facts.host, .pid = facts.pid, .place = facts.place};
}

void Hub::add_part(std::int32_t world_rank, tensors::ViewPart&& part, std::int64_t now_ns, std::vector<ViewPointer>& whole) {
  const tensors::Wish* const wish = store_.wishes.find(part.wish);
  if (wish == nullptr) return;  // nobody wants it any more
  const std::uint64_t cells = std::accumulate(part.whole_shape.begin(), part.whole_shape.end(), std::uint64_t{1}, std::multiplies<>());
  if (cells <= kMostViewCells) return joiner_.add(world_rank, std::move(part), wish->method(), now_ns, whole);
  if (!too_large_.insert(part.wish).second) return;
  notify({part.wish, "A view of " + std::to_string(cells) + " numbers is too large for a frame: ask for fewer tiles."});
}

void Hub::add_readings(std::int32_t world_rank, const tensors::CounterReadings& readings) {
  for (std::size_t i = 0; i < readings.ids.size(); ++i) {
    const std::optional<std::uint32_t> id = store_.counters.id_of(world_rank, readings.ids[i]);
    if (id) store_.history.counters.add({.step = readings.step, .id = *id, .value = readings.values[i]});
    else count_drop("values of counters without a name", 1);
  }
}

void Hub::add_interval(std::int32_t world_rank, const tensors::Interval& interval) {
  store_.has_intervals = true;
  for (StepEntry& row : intervals_.add(world_rank, store_.ranks, interval)) {
    ++steps_;
    store_.history.steps.add(std::move(row));
  }
}

void Hub::shelve(std::vector<ViewPointer>& views) {
  for (ViewPointer& view : views) {
    const Shelf::Place place{view->wish, view->key};
    if (view->missing != 0) count_drop("parts of views that did not come", view->missing);
    store_.shelf.put(std::move(view));
    for (auto& [id, client] : clients_) {
      for (auto& [name, panel] : client.panels) {
        if (panel.wants(place.first)) panel.hear_of(place);
      }
    }
  }
}

void Hub::notify(const tensors::Notice& notice) {
  const std::string text = notice.text.substr(0, kMostEventText);
  if (notice.wish == 0) return announce(dumped({{"type", "notice"}, {"text", text}}));
  for (auto& [id, client] : clients_) {
    for (auto& [name, panel] : client.panels) {
      if (panel.wants(notice.wish)) reply(client, dumped({{"type", "notice"}, {"panel", name}, {"text", text}}));
    }
  }
}

void Hub::count_drop(const std::string& reason, std::uint64_t count) { drops_[reason] += count; }

void Hub::tick(std::int64_t now_ns) {
  std::vector<ViewPointer> whole;
  joiner_.expire(now_ns, has_ended_, whole);
  shelve(whole);
}

void Hub::end(bool is_aborted, std::int64_t now_ns) {
  has_ended_ = true;
  end_text_ = dumped({{"type", "end"}, {"reason", is_aborted ? "aborted" : "finished"}, {"steps", steps_}});
  tick(now_ns);
}

}  // namespace megascope::live
