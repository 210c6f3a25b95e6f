#include "plugin/live/hub/hub.h"
#include "plugin/live/protocol/json_fields.h"

#include <utility>

/// Requests from clients to the application, and its answers.
namespace megascope::live {
namespace {

using Json = nlohmann::json;

/// The application's "type" becomes "reply", because "type" is the message's own.
Json reply_of(const Asker& asker, Json reply) {
  reply["reply"] = std::move(reply["type"]);
  reply["type"] = "reply";
  reply.erase("id");
  if (!asker.tag.empty()) reply["id"] = Json::parse(asker.tag, nullptr, false);
  return reply;
}

}  // namespace

void Hub::ask(ClientId id, Client& client, Ask&& ask) {
  const Asker asker{.is_compat = false, .client = id, .tag = std::move(ask.id)};
  std::string problem = client.answers.is_full() ? "More than 4 MiB of answers are queued because "
                                                   "this client does not read them."
                                                 : "";
  if (!problem.empty())
    return reply(client, dumped(reply_of(asker, {{"type", "error"}, {"message", problem}})));
  const std::optional<std::size_t> before = request_queue_.ask(asker, std::move(ask.request),
                                                               problem);
  if (!before)
    return reply(client, dumped(reply_of(asker, {{"type", "error"}, {"message", problem}})));
  reply(client, dumped(reply_of(asker, {{"type", "waiting"}, {"before", *before}})));
}

void Hub::receive_polls() {
  const bool might_before = request_queue_.may_ask();
  request_queue_.open();
  if (request_queue_.may_ask() && !might_before) announce(R"({"type":"control","generate":true})");
}

void Hub::receive_reply(const std::string& text, std::int64_t now_ns) {
  std::string problem;
  const Json answer = parsed_object(text, problem);
  if (!problem.empty())
    return count_drop("answers of the application that are not JSON objects or nest too deeply", 1);
  const std::optional<Asker> asker = request_queue_.answered(answer, now_ns);
  if (asker) answer_to(*asker, answer);
}

void Hub::fail_request(const std::string& why) {
  const std::optional<Asker> asker = request_queue_.give_up();
  if (asker) answer_to(*asker, {{"type", "error"}, {"message", why}});
}

void Hub::answer_to(const Asker& asker, const Json& answer) {
  if (asker.is_compat) {
    if (observer_ != nullptr) observer_->handle(asker, answer);
    return;
  }
  const auto client = clients_.find(asker.client);
  if (client == clients_.end()) return;
  if (!client->second.answers.put(dumped(reply_of(asker, answer)), answer["type"] == "token"))
    count_drop(kLostTokens, 1);
}

}  // namespace megascope::live
