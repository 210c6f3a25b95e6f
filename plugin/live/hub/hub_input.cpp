#include "plugin/live/hub/hub.h"
#include "plugin/live/protocol/json_fields.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

/// Data from the ranks.
namespace megascope::live {
namespace {

constexpr std::size_t kMaxEvents = 1000;
constexpr std::size_t kMaxEventText = 512;
/// Different notices for a capture request.
constexpr std::size_t kMaxNotices = 64;
constexpr std::uint64_t kMaxViewCells = kMaxFrameBytes / 2;  ///< encoded as f16

std::array<double, kStatisticsColumns.size()> columns_of(const kernels::TensorStatistics& found) {
  return {static_cast<double>(found.count),
          static_cast<double>(found.nan_count),
          static_cast<double>(found.infinity_count),
          found.min,
          found.max,
          found.mean(),
          found.norm()};
}

}  // namespace

void Hub::take_block(std::span<const std::byte> block) {
  assembler_.receive_block();
  std::optional<BlockFacts> facts = facts_of(block, store_.ranks);
  if (!facts || facts->times.step < 0) return;  // activity before the first step
  if (facts->is_idle) return;                   // a poll for requests is not a step
  ++steps_;
  if (facts->has_statistics)
    add_statistics(*facts);
  else
    count_drop("steps without statistics, because ranks disagreed on the step", 1);
  if (facts->dropped != 0)
    count_drop("tensor statistics that did not fit into the step exchange", facts->dropped);
  store_.history.steps.add(std::move(facts->times));
}

void Hub::add_statistics(const BlockFacts& facts) {
  for (const steps::TensorSlot& slot : facts.slots) {
    const std::optional<std::uint32_t> id = slot.parts == slot.wanted_parts
                                                ? store_.tensors.id_of(slot.key)
                                                : std::nullopt;
    if (!id) {
      count_drop(slot.parts == slot.wanted_parts ? "tensors beyond the limit of tensors"
                                                 : "tensor statistics with missing parts",
                 1);
      continue;
    }
    store_.history.statistics.add(
        {.step = facts.times.step, .id = *id, .values = columns_of(slot.statistics)});
    if (is_alerted_.size() <= *id) is_alerted_.resize(*id + std::size_t{1});
    const bool is_bad = slot.statistics.nan_count + slot.statistics.infinity_count != 0;
    if (is_bad && !is_alerted_[*id]) alert(facts.times.step, slot, *id);
    is_alerted_[*id] = is_bad;
  }
}

void Hub::alert(std::int64_t step, const steps::TensorSlot& slot, std::uint32_t id) {
  const KnownTensor& tensor = store_.tensors[id];
  const std::string layer = tensor.name.layer == kNoLayer
                                ? std::string()
                                : ", layer " + std::to_string(tensor.name.layer);
  const std::string name = tensor.is_named ? tensor.name.name + layer
                                           : "a tensor without a name so far";
  const std::string text = name + ": " + std::to_string(slot.statistics.nan_count) + " NaN, " +
                           std::to_string(slot.statistics.infinity_count) + " infinite of " +
                           std::to_string(slot.statistics.count);
  announce(dumped({{"type", "alert"},
                   {"step", step},
                   {"ranks", {slot.bad_rank}},
                   {"text", text},
                   {"tensor", id}}));
}

void Hub::alert(std::int64_t step, const KnownCounter& counter) {
  const char* const what = std::isnan(*counter.value) ? " is not a number (NaN)" : " is infinite";
  announce(dumped({{"type", "alert"},
                   {"step", step},
                   {"ranks", {counter.world_rank}},
                   {"text", counter.name + what}}));
}

void Hub::announce(std::string text) {
  events_.push_back(std::move(text));
  if (events_.size() <= kMaxEvents) return;
  events_.pop_front();
  ++first_event_;
}

void Hub::take_rank_update(std::int32_t world_rank, std::span<const std::byte> rank_update,
                           std::int64_t now_ns) {
  capture::RankUpdateReader reader(rank_update);
  std::vector<ViewPointer> whole;
  using Item = capture::RankUpdateReader::Item;
  for (Item item = reader.next(); item != Item::kEnd; item = reader.next()) {
    switch (item) {
      case Item::kTensorName:
        store_.tensors.learn(reader.tensor_name);
        break;
      case Item::kCounterName:
        store_.counters.learn(world_rank, reader.counter_name);
        break;
      case Item::kCounterReadings:
      case Item::kPastReadings:
        add_readings(world_rank, reader.counter_readings, item == Item::kPastReadings);
        break;
      case Item::kInterval:
        add_interval(world_rank, reader.interval);
        break;
      case Item::kCallSums:
        store_.calls.add(world_rank, store_.ranks, reader.call_sums);
        break;
      case Item::kNotice:
        notify(reader.notice);
        break;
      case Item::kPolls:
        receive_polls();
        break;
      case Item::kLeftOut:
        count_drop("view parts that did not fit into rank updates", reader.left_out.parts);
        break;
      case Item::kRequestFailed:
        fail_request(reader.request_failed.text);
        break;
      case Item::kReply:
        receive_reply(reader.reply.text, now_ns);
        break;
      case Item::kRankFacts:
        learn_rank(world_rank, reader.rank_facts);
        break;
      case Item::kViewPart:
        add_part(world_rank, std::move(reader.view_part), now_ns, whole);
        break;
      default:
        count_drop("damaged rank updates", 1);
        return deliver(whole, now_ns);
    }
  }
  deliver(whole, now_ns);
}

void Hub::learn_rank(std::int32_t world_rank, const capture::RankFacts& facts) {
  const auto at = std::ranges::lower_bound(settings_.ranks, world_rank, {}, &LiveRank::world_rank);
  const bool is_known = at != settings_.ranks.end() && at->world_rank == world_rank;
  LiveRank& rank = is_known ? *at : *settings_.ranks.insert(at, LiveRank{});
  rank = {
      .world_rank = world_rank, .host = facts.host, .pid = facts.pid, .coordinates = facts.place};
}

void Hub::add_part(std::int32_t world_rank, capture::ViewPart&& part, std::int64_t now_ns,
                   std::vector<ViewPointer>& whole) {
  const capture::CaptureRequest* const capture_request = store_.capture_requests.find(
      part.capture_request);
  if (capture_request == nullptr) return;  // no client requests it any more
  const std::uint64_t cells = std::accumulate(part.whole_shape.begin(), part.whole_shape.end(),
                                              std::uint64_t{1}, std::multiplies<>());
  if (cells > kMaxViewCells) {
    if (too_large_.insert(part.capture_request).second)
      notify({part.capture_request, "A view of " + std::to_string(cells) +
                                        " values is too large for a frame; request fewer tiles."});
    return;
  }
  const std::uint32_t capture_request_id = part.capture_request;
  const std::uint64_t key = part.key;
  count_fate(assembler_.add(world_rank, std::move(part), capture_request->method(), now_ns, whole),
             capture_request_id, key);
}

void Hub::count_fate(ViewAssembler::Fate fate, std::uint32_t capture_request, std::uint64_t key) {
  switch (fate) {
    case ViewAssembler::Fate::kTaken:
    case ViewAssembler::Fate::kCopy:
      return;
    case ViewAssembler::Fate::kInstead:
      return count_drop("views of another replica, because the first one stopped sending", 1);
    case ViewAssembler::Fate::kPast:
      return count_drop("view parts that arrived too late", 1);
    case ViewAssembler::Fate::kTwice:
      return count_drop("view parts that a rank sent twice in one step", 1);
    case ViewAssembler::Fate::kTooMany:
      return count_drop("views beyond the limit of assembled tensors", 1);
    case ViewAssembler::Fate::kUnlike:
      break;
  }
  count_drop("view parts with inconsistent shapes", 1);
  const std::optional<std::uint32_t> id = store_.tensors.find(key);
  const std::string name = id && store_.tensors[*id].is_named ? store_.tensors[*id].name.name
                                                              : "A tensor";
  notify({capture_request, name +
                               " has parts with inconsistent shapes: ranks have unequal parts, or "
                               "reported different shapes"});
}

void Hub::add_readings(std::int32_t world_rank, const capture::CounterReadings& readings,
                       bool is_past) {
  for (std::size_t i = 0; i < readings.ids.size(); ++i) {
    const std::optional<std::uint32_t> id = store_.counters.id_of(world_rank, readings.ids[i]);
    if (!id) {
      count_drop("values of counters without a name or beyond the limit of counters", 1);
      continue;
    }
    store_.history.counters.add({.step = readings.step, .id = *id, .value = readings.values[i]});
    if (store_.counters.set(*id, readings.values[i], is_past))
      alert(readings.step, store_.counters[*id]);
    watch(readings.step, *id, readings.values[i]);
  }
}

/// Raises an alert if a loss or gradient norm diverges.
void Hub::watch(std::int64_t step, std::uint32_t id, double value) {
  const KnownCounter& counter = store_.counters[id];
  auto known = divergences_.find(id);
  if (known == divergences_.end()) {
    const std::optional<double> factor = Divergence::factor_of(counter.name);
    if (!factor) return;
    known = divergences_.emplace(id, Divergence(*factor)).first;
  }
  const std::optional<double> bound = known->second.add(value);
  if (!bound) return;
  const std::string text = counter.name + " diverges: " + std::to_string(Divergence::kInRow) +
                           " consecutive values above " +
                           nlohmann::json(std::round(*bound * 1e4) / 1e4).dump();
  announce(
      dumped({{"type", "alert"}, {"step", step}, {"ranks", {counter.world_rank}}, {"text", text}}));
}

void Hub::add_interval(std::int32_t world_rank, const capture::Interval& interval) {
  store_.has_intervals = true;
  for (StepEntry& row : intervals_.add(world_rank, store_.ranks, interval)) {
    ++steps_;
    store_.history.steps.add(std::move(row));
  }
}

void Hub::deliver(std::vector<ViewPointer>& views, std::int64_t now_ns) {
  for (ViewPointer& view : views) {
    const LatestViewCache::Key key{view->capture_request, view->key};
    if (view->missing != 0) count_drop("missing view parts", view->missing);
    store_.cache.put(std::move(view));
    for (auto& [id, client] : clients_) {
      for (auto& [name, subscription] : client.subscriptions) {
        if (subscription.wants(key.first)) subscription.receive_key(key);
      }
    }
    if (observer_ != nullptr) observer_->receive_key(key, now_ns);
  }
}

void Hub::notify(const capture::Notice& notice) {
  const std::string text = notice.text.substr(0, kMaxEventText);
  if (notice.capture_request == 0) return announce(dumped({{"type", "notice"}, {"text", text}}));
  if (store_.capture_requests.find(notice.capture_request) == nullptr)
    return;  // no client requests it any more
  std::vector<std::string>& reported = notices_[notice.capture_request];
  if (std::ranges::find(reported, text) != reported.end()) return;
  if (reported.size() >= kMaxNotices)
    return count_drop("notices beyond the limit of a capture request", 1);
  reported.push_back(text);
  if (observer_ != nullptr) observer_->handle(notice);
  for (auto& [id, client] : clients_) {
    for (auto& [name, subscription] : client.subscriptions) {
      if (subscription.wants(notice.capture_request)) report(client, name, text);
    }
  }
}

/// Queues an unsolicited notice. A client that does not read loses the notice, but is not closed.
void Hub::report(Client& client, const std::string& subscription, const std::string& text) {
  std::string message = dumped({{"type", "notice"}, {"panel", subscription}, {"text", text}});
  if (client.notice_bytes + message.size() > kMaxReplyBytes)
    return count_drop("notices for clients that do not read", 1);
  client.notice_bytes += message.size();
  client.notices.push_back(std::move(message));
}

/// Sends the notices about the panel's capture requests that were raised before the panel existed.
void Hub::report_again(Client& client, const std::string& subscription,
                       const std::vector<std::uint32_t>& capture_requests) {
  for (const std::uint32_t capture_request : capture_requests) {
    const auto reported = notices_.find(capture_request);
    if (reported == notices_.end()) continue;
    for (const std::string& text : reported->second) report(client, subscription, text);
  }
}

void Hub::count_drop(const std::string& reason, std::uint64_t count) { drops_[reason] += count; }

void Hub::tick(std::int64_t now_ns) {
  std::vector<ViewPointer> whole;
  assembler_.expire(now_ns, has_ended_, whole);
  deliver(whole, now_ns);
  if (request_queue_.is_overdue(now_ns))
    fail_request("The application did not answer for a minute; the request was abandoned.");
}

void Hub::end(bool is_aborted, std::int64_t now_ns) {
  has_ended_ = true;
  is_closing_ = is_aborted;
  ended_ns_ = now_ns;
  end_text_ = dumped({{"type", "end"},
                      {"reason", is_aborted ? "aborted" : "finished"},
                      {"steps", steps_},
                      {"directory", settings_.run_directory}});
  request_queue_.end();
  tick(now_ns);
  if (observer_ != nullptr) observer_->receive_end();
}

void Hub::close(const std::optional<std::string>& verdict) {
  is_closing_ = true;
  if (verdict) verdict_text_ = dumped({{"type", "verdict"}, {"text", *verdict}});
}

}  // namespace megascope::live
