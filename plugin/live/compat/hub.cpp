#include "plugin/live/compat/hub.h"

#include "plugin/live/compat/answers.h"
#include "plugin/live/protocol/bounds.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

/// Messages from clients, and selection of the next message for each.
namespace megascope::live {
namespace {

constexpr const char* kNoPca =
    "MLP2_Plot: PCA is not supported, so the PCA tab stays empty. Switch off MLP2 PCA; "
    "QKV, attention, MLP1, MLP2 and output probabilities are available.";

}  // namespace

CompatHub::CompatHub(Hub& hub)
    : hub_(hub),
      budget_(static_cast<double>(hub.settings().unauthenticated_bytes_per_second),
              hub.settings().unauthenticated_cpu_percent) {
  hub_.set_observer(this);
  hub_.set_unauthenticated_budget(&budget_);
}

CompatHub::~CompatHub() {
  hub_.set_observer(nullptr);
  hub_.set_unauthenticated_budget(nullptr);
}

std::optional<ProtocolEndpoint::ClientId> CompatHub::connect(std::int64_t now_ns) {
  if (clients_.size() >= kMaxCompatClients) return std::nullopt;
  const ClientId id = next_client_++;
  clients_.try_emplace(id, budget_).first->second.rate = MessageRate(now_ns);
  return id;
}

CompatHub::Client* CompatHub::find(ClientId id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : &found->second;
}

void CompatHub::disconnect(ClientId id) {
  Client* const client = find(id);
  if (client == nullptr) return;
  stop(id, *client);
  clients_.erase(id);
}

bool CompatHub::count_message(ClientId id, std::int64_t now_ns) {
  Client* const client = find(id);
  return client != nullptr && client->rate.may_send(now_ns);
}

void CompatHub::reply(Client& client, std::string text) {
  if (client.reply_bytes > kMaxReplyBytes)
    return hub_.count_drop("texts for clients that do not read", 1);
  client.reply_bytes += text.size();
  client.replies.push_back(std::move(text));
}

void CompatHub::refuse(Client& client, const std::string& sentence) {
  reply(client, compat_error_text(sentence));
}

bool CompatHub::receive(ClientId id, std::string_view text, std::int64_t now_ns) {
  Client* const client = find(id);
  if (client == nullptr) return false;
  if (!client->rate.may_send(now_ns)) {
    refuse(*client, "The client sent more than 100 messages in a second.");
    return false;
  }
  CompatRequest request = read_compat_request(text);
  if (const auto* bad = std::get_if<CompatBad>(&request)) {
    refuse(*client, bad->text);
  } else if (std::holds_alternative<CompatPing>(request)) {
    reply(*client, R"({"type":"pong"})");
  } else if (const auto* wanted = std::get_if<CompatWatch>(&request)) {
    stop(id, *client);
    if (watch(*client, *wanted, now_ns))
      client->mode = Mode::kTraining;
    else
      stop(id, *client);
    if (wanted->wants_pca) refuse(*client, kNoPca);
  } else {
    generate(id, *client, std::move(std::get<CompatGenerate>(request)), now_ns);
  }
  return client->reply_bytes <= kMaxReplyBytes;
}

/// Ends the client's previous request. Queued replies stay.
void CompatHub::stop(ClientId id, Client& client) {
  hub_.request_queue().forget(true, id);
  for (const Seen& seen : client.seen) hub_.release(seen.capture_requests, From::kUnauthenticated);
  client.seen.clear();
  forget_views(client);
  client.answers.clear();
  client.finish.clear();
  client.finish_ns.reset();
  client.has_started = false;
  client.wants_pca = false;
  client.first_step.reset();
  client.progress = {};
  client.mode = Mode::kIdle;
}

bool CompatHub::ask_ranks(Seen& seen) {
  std::optional<std::vector<std::uint32_t>> capture_requests = hub_.want(
      capture_requests_of(seen.lens.flag(), seen.lens.capture_request()), seen.capture_requests);
  hub_.release(std::exchange(seen.capture_requests, {}), From::kUnauthenticated);
  if (capture_requests) seen.capture_requests = std::move(*capture_requests);
  return capture_requests.has_value();
}

bool CompatHub::add_flag(Client& client, const WantedFlag& wanted, std::string& problem) {
  std::shared_ptr<const NpyArray> vector;
  if (wanted.compressor.kind == CompressorKind::kProjection) {
    const Status status = vectors_.take(hub_.settings().vectors_directory,
                                        wanted.compressor.vector_path, vector);
    if (!status.is_ok()) problem = "The projection is rejected: " + status.message() + ".";
    if (!status.is_ok()) return false;
  }
  client.seen.push_back({.lens = CompatLens(wanted, client.form, std::move(vector)),
                         .capture_requests = {},
                         .sent_tokens = {}});
  const std::vector<std::uint64_t> shape = wanted.flag == CompatFlag::kQkv
                                               ? known_shape(wanted.flag)
                                               : std::vector<std::uint64_t>{};
  if (!shape.empty())
    // Otherwise its first views provide the shape and are not shown.
    (void)client.seen.back().lens.learn(shape);
  if (ask_ranks(client.seen.back())) return true;
  problem = "The limit of capture requests is reached: " +
            std::to_string(kMaxCompatCaptureRequests) + " for all clients of this port, " +
            std::to_string(capture::kMaxCaptureRequests) + " for all clients.";
  return false;
}

bool CompatHub::watch(Client& client, const CompatWatch& request, std::int64_t now_ns) {
  client.form = request.form;
  client.since_ns = now_ns;
  client.since_steps = hub_.steps();
  std::string problem = request.flags.empty() ? "No flag is switched on; switch on at least one."
                                              : "";
  for (const WantedFlag& wanted : request.flags) {
    if (problem.empty()) (void)add_flag(client, wanted, problem);
  }
  if (!problem.empty()) refuse(client, problem);
  return problem.empty();
}

void CompatHub::generate(ClientId id, Client& client, CompatGenerate&& request,
                         std::int64_t now_ns) {
  std::string problem = hub_.request_queue().why_not();
  if (!problem.empty()) return refuse(client, problem);
  stop(id, client);
  const bool is_watched = request.watch.flags.empty() || watch(client, request.watch, now_ns);
  if (is_watched && hub_.request_queue().ask({.is_compat = true, .client = id, .tag = {}},
                                             std::move(request.request), problem)) {
    client.form = request.watch.form;
    client.wants_pca = request.watch.wants_pca;
    client.mode = Mode::kGenerating;
    return;
  }
  if (!problem.empty()) refuse(client, problem);
  stop(id, client);
}

void CompatHub::handle(const Asker& asker, const nlohmann::json& answer) {
  Client* const client = find(asker.client);
  if (client == nullptr || client->mode != Mode::kGenerating) return;
  const std::string type = answer.value("type", "");
  if (type == "start") {
    client->has_started = true;
    forget_views(*client);  // discards views of earlier steps
    client->progress = TextProgress(shortest_prompt(answer));
    (void)client->answers.put(compat_start_text(answer, layer_count()), false);
  } else if (type == "token") {
    client->progress.add_token(token_step(answer));
    if (!client->answers.put(compat_result_text(answer), true)) hub_.count_drop(kLostTokens, 1);
  } else if (type == "finish") {
    client->finish = compat_finish_text(answer);
  } else if (type == "error") {
    const auto message = answer.find("message");
    client->finish_ns = 0;  // do not wait for views
    client->wants_pca = false;
    client->finish = compat_error_text(message != answer.end() && message->is_string()
                                           ? message->get<std::string>()
                                           : "the application gave no reason");
  }
}

bool CompatHub::next_reply(ClientId id, std::string& text) {
  Client* const client = find(id);
  if (client == nullptr || client->replies.empty()) return false;
  text = std::move(client->replies.front());
  client->replies.pop_front();
  client->reply_bytes -= text.size();
  return true;
}

bool CompatHub::next(ClientId id, std::int64_t now_ns, Outgoing& message) {
  Client* const client = find(id);
  if (client == nullptr) return false;
  client->is_held = !client->turn.has_come(now_ns);
  if (client->is_held && !has_ended_) return false;
  message.is_text = true;
  if (next_reply(id, message.text) || client->answers.take(message.text)) return true;
  if (may_show(*client, now_ns)) {
    if (!std::exchange(client->has_started, true)) {
      message.text = start_text(*client);
      return true;
    }
    if (!client->is_held && next_view(*client, message.text)) return true;
    if (next_reply(id, message.text)) return true;  // includes why a view cannot be shown
  }
  if (!client->finish.empty() && has_last_views(*client, now_ns)) {
    // Not sent earlier, because MegatronApp's page treats an error as the end of the generation.
    if (std::exchange(client->wants_pca, false)) {
      message.text = compat_error_text(kNoPca);
      return true;
    }
    message.text = std::move(client->finish);
    stop(id, *client);
    return true;
  }
  if (!has_ended_ || std::exchange(client->has_received_end, true)) return false;
  message.text = compat_error_text("The run has ended.");
  return client->mode == Mode::kGenerating;
}

bool CompatHub::has_received_all(ClientId id) const {
  const auto found = clients_.find(id);
  return found == clients_.end() || found->second.has_received_end;
}

}  // namespace megascope::live
