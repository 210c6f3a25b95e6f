#include "plugin/live/hub/hub.h"

#include "plugin/live/hub/hello.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/protocol/json_fields.h"
#include "plugin/live/protocol/requests.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

/// Messages from clients, and selection of the next message for each.
namespace megascope::live {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNamesAMessage = 256;
constexpr std::int64_t kSecondNs = 1'000'000'000;

std::string error_text(const std::string& text, const std::string& subscription) {
  Json message{{"type", "error"}, {"text", text}};
  if (!subscription.empty()) message["panel"] = subscription;
  return dumped(message);
}

}  // namespace

Hub::Hub(LiveSettings settings)
    : settings_(std::move(settings)), request_queue_(settings_.is_control_allowed) {
  store_.ranks = static_cast<std::uint32_t>(
      std::clamp(settings_.world_size, 1, static_cast<std::int32_t>(steps::kMaxLiveRanks)));
}

std::optional<Hub::ClientId> Hub::connect(std::int64_t now_ns) {
  if (clients_.size() >= kMaxClients) return std::nullopt;
  const ClientId id = next_client_++;
  Client& client = clients_[id];
  client.rate = MessageRate(now_ns);
  client.reported_events = first_event_;
  reply(client, hello_text(settings_, is_running(), request_queue_));
  return id;
}

void Hub::disconnect(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  for (const auto& [name, subscription] : found->second.subscriptions)
    release(subscription.capture_requests(), From::kClient);
  clients_.erase(found);
  request_queue_.forget(false, id);
}

/// Queues the answer to a client's message. A client that sends messages without reading is closed
/// (receive()).
void Hub::reply(Client& client, std::string text) {
  if (client.reply_bytes > kMaxReplyBytes)
    return count_drop("texts for clients that do not read", 1);
  client.reply_bytes += text.size();
  client.replies.push_back(std::move(text));
}

bool Hub::count_message(ClientId id, std::int64_t now_ns) {
  const auto found = clients_.find(id);
  return found != clients_.end() && found->second.rate.may_send(now_ns);
}

bool Hub::receive(ClientId id, std::string_view text, std::int64_t now_ns) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return false;
  Client& client = found->second;
  if (!client.rate.may_send(now_ns)) {
    reply(client, error_text("The client sent more than 100 messages in a second.", {}));
    return false;
  }
  if (client.has_received_end) return true;
  Request request = read_request(text);
  if (const auto* bad = std::get_if<BadRequest>(&request)) {
    reply(client, error_text(bad->text, bad->subscription));
  } else if (const auto* wanted = std::get_if<Subscribe>(&request)) {
    subscribe(client, *wanted);
  } else if (const auto* unwanted = std::get_if<Unsubscribe>(&request)) {
    if (!client.subscriptions.contains(unwanted->subscription))
      reply(client, error_text("Unknown panel.", unwanted->subscription));
    unsubscribe(client, unwanted->subscription);
  } else if (const auto* credit = std::get_if<Credit>(&request)) {
    const auto subscription = client.subscriptions.find(credit->subscription);
    if (subscription == client.subscriptions.end())
      reply(client, error_text("Unknown panel.", credit->subscription));
    else
      subscription->second.add_credits(credit->frames);
  } else if (const auto* ping = std::get_if<Ping>(&request)) {
    reply(client,
          ping->id.empty() ? R"({"type":"pong"})" : R"({"type":"pong","id":)" + ping->id + "}");
  } else if (auto* asked = std::get_if<Ask>(&request)) {
    ask(id, client, std::move(*asked));
  }
  return client.reply_bytes <= kMaxReplyBytes;
}

void Hub::release(const std::vector<std::uint32_t>& capture_requests, From from) {
  store_.capture_requests.release(capture_requests, from);
  for (const std::uint32_t capture_request : capture_requests) {
    if (store_.capture_requests.find(capture_request) != nullptr) continue;
    store_.cache.forget(capture_request);
    too_large_.erase(capture_request);
    notices_.erase(capture_request);
    assembler_.forget(capture_request);
  }
}

void Hub::unsubscribe(Client& client, const std::string& subscription) {
  const auto found = client.subscriptions.find(subscription);
  if (found == client.subscriptions.end()) return;
  release(found->second.capture_requests(), From::kClient);
  client.subscriptions.erase(found);
}

void Hub::subscribe(Client& client, const Subscribe& request) {
  const auto former = client.subscriptions.find(request.subscription);
  if (former == client.subscriptions.end() && client.subscriptions.size() >= kMaxSubscriptions)
    return reply(client, error_text("The limit of " + std::to_string(kMaxSubscriptions) +
                                        " panels is reached. Remove one first.",
                                    request.subscription));
  const std::vector<std::uint32_t> former_capture_requests = former == client.subscriptions.end()
                                                                 ? std::vector<std::uint32_t>()
                                                                 : former->second
                                                                       .capture_requests();
  std::optional<std::vector<std::uint32_t>> capture_requests = store_.capture_requests.add(
      capture_requests_of(request), From::kClient, former_capture_requests);
  if (!capture_requests) {
    const std::string most = std::to_string(capture::kMaxCaptureRequests);
    return reply(client, error_text("The limit of " + most +
                                        " capture requests of all clients together is reached.",
                                    request.subscription));
  }
  // Released after adding, so that shared capture requests continue.
  unsubscribe(client, request.subscription);
  const Subscription& subscription = client.subscriptions
                                         .emplace(
                                             request.subscription,
                                             Subscription(request, std::move(*capture_requests),
                                                          store_))
                                         .first->second;
  reply(client, dumped({{"type", "subscribed"},
                        {"panel", request.subscription},
                        {"matches", subscription.matches(store_)}}));
  report_again(client, request.subscription, subscription.capture_requests());
}

bool Hub::next(ClientId id, std::int64_t now_ns, Outgoing& message) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return false;
  Client& client = found->second;
  if (client.has_received_end) return next_last(client, message);
  message.is_text = next_text(client, now_ns, message.text);
  if (message.is_text || next_frame(client, now_ns, message.frame)) {
    sent_bytes_ += message.is_text ? message.text.size() : message.frame.size();
    return true;
  }
  if (!has_ended_) return false;
  client.has_received_end = true;
  message.is_text = true;
  message.text = end_text_;
  return true;
}

bool Hub::next_last(Client& client, Outgoing& message) const {
  if (verdict_text_.empty() || std::exchange(client.has_received_verdict, true)) return false;
  message.is_text = true;
  message.text = verdict_text_;
  return true;
}

bool Hub::is_waiting_for_verdict(ClientId id) const {
  const auto found = clients_.find(id);
  return found != clients_.end() && found->second.has_received_end && !is_closing_;
}

bool Hub::has_received_all(ClientId id) const {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return true;
  const Client& client = found->second;
  return client.has_received_end && is_closing_ &&
         (verdict_text_.empty() || client.has_received_verdict);
}

bool Hub::next_reply(ClientId id, std::string& text) {
  const auto found = clients_.find(id);
  return found != clients_.end() && take_reply(found->second, text);
}

bool Hub::take_reply(Client& client, std::string& text) {
  if (client.replies.empty()) return false;
  text = std::move(client.replies.front());
  client.replies.pop_front();
  client.reply_bytes -= text.size();
  return true;
}

bool Hub::next_text(Client& client, std::int64_t now_ns, std::string& text) {
  if (take_reply(client, text) || client.answers.take(text)) return true;
  if (!client.notices.empty()) {
    text = std::move(client.notices.front());
    client.notices.pop_front();
    client.notice_bytes -= text.size();
    return true;
  }
  if (next_names(client, text)) return true;
  client.reported_events = std::max(client.reported_events, first_event_);
  if (client.reported_events < first_event_ + events_.size()) {
    text = events_[client.reported_events++ - first_event_];
    return true;
  }
  return next_drops(client, now_ns, text);
}

bool Hub::next_names(Client& client, std::string& text) {
  const std::vector<std::uint32_t>& learned = store_.tensors.learned();
  Json list = Json::array();
  for (; client.reported_tensors < learned.size() && list.size() < kNamesAMessage;
       ++client.reported_tensors)
    list.push_back(store_.tensors.json_of(learned[client.reported_tensors]));
  if (!list.empty()) {
    text = dumped({{"type", "tensors"}, {"tensors", std::move(list)}});
    return true;
  }
  for (; client.reported_counters < store_.counters.size() && list.size() < kNamesAMessage;
       ++client.reported_counters)
    list.push_back(store_.counters.json_of(static_cast<std::uint32_t>(client.reported_counters)));
  if (list.empty()) return false;
  text = dumped({{"type", "counters"}, {"counters", std::move(list)}});
  return true;
}

/// Cycles through the reasons, so that a fast growing one does not hide the others.
bool Hub::next_drops(Client& client, std::int64_t now_ns, std::string& text) {
  if (now_ns - client.drops_reported_ns < kSecondNs) return false;
  auto at = drops_.upper_bound(client.last_drop);
  for (std::size_t tried = 0; tried < drops_.size(); ++tried, ++at) {
    if (at == drops_.end()) at = drops_.begin();
    const auto& [reason, count] = *at;
    std::uint64_t& reported = client.reported_drops[reason];
    if (reported == count) continue;
    reported = count;
    client.last_drop = reason;
    client.drops_reported_ns = now_ns;
    text = dumped({{"type", "drops"}, {"reason", reason}, {"count", count}});
    return true;
  }
  return false;
}

/// After the end, sends the last rows and the end before views, which are large; then as many views
/// as possible within 200 ms.
bool Hub::next_frame(Client& client, std::int64_t now_ns, std::vector<std::byte>& frame) {
  constexpr std::int64_t kMomentNs = 200'000'000;
  if (!has_ended_)
    return next_frame_of(
        client, [](const Subscription&) { return true; }, frame);
  const auto shows_views = [](const Subscription& subscription) {
    return subscription.request().what == Subject::kTensor;
  };
  if (next_frame_of(client, std::not_fn(shows_views), frame)) return true;
  return now_ns - ended_ns_ < kMomentNs && next_frame_of(client, shows_views, frame);
}

/// Cycles through the panels, starting after the one served last.
template <class Condition>
bool Hub::next_frame_of(Client& client, Condition may_be, std::vector<std::byte>& frame) {
  auto at = client.subscriptions.upper_bound(client.last_subscription);
  for (std::size_t tried = 0; tried < client.subscriptions.size(); ++tried, ++at) {
    if (at == client.subscriptions.end()) at = client.subscriptions.begin();
    if (!may_be(at->second)) continue;
    std::string problem;
    std::optional<std::vector<std::byte>> made = at->second.next(store_, client.frame_number,
                                                                 problem);
    if (!problem.empty()) report(client, at->first, problem);
    if (!made) continue;
    frame = std::move(*made);
    client.last_subscription = at->first;
    ++client.frame_number;
    ++sent_frames_;
    return true;
  }
  return false;
}

}  // namespace megascope::live
