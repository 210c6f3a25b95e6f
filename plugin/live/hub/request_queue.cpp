#include "plugin/live/hub/request_queue.h"

#include "core/lifecycle/live_server.h"
#include "plugin/live/protocol/json_fields.h"

#include <algorithm>
#include <utility>

namespace megascope::live {

std::string RequestQueue::why_not() const {
  if (has_ended_) return "The run has ended.";
  if (!is_allowed_)
    return "Requests are disabled: start the program with "
           "MEGASCOPE_LIVE_CONTROL=allow to enable them.";
  if (!has_polls_)
    return "The application does not accept requests: it has not called megascope_request_poll.";
  return {};
}

std::optional<std::size_t> RequestQueue::ask(Asker asker, nlohmann::json request,
                                             std::string& problem) {
  problem = why_not();
  if (problem.empty() && waiting_.size() >= kMaxWaiting)
    problem = std::to_string(kMaxWaiting) + " requests are queued, which is the limit.";
  const auto is_of_compat = [](const Request& one) { return one.asker.is_compat; };
  if (problem.empty() && asker.is_compat &&
      static_cast<std::size_t>(std::ranges::count_if(waiting_, is_of_compat)) >= kMaxCompatWaiting)
    problem = std::to_string(kMaxCompatWaiting) +
              " requests of unauthenticated clients are queued, which is the limit.";
  if (!problem.empty()) return std::nullopt;
  request["id"] = next_id_;
  std::string text = dumped(request);
  if (text.size() > kMaxRequestBytes) {
    problem = "The request has " + std::to_string(text.size()) + " bytes; the limit is " +
              std::to_string(kMaxRequestBytes) + ".";
    return std::nullopt;
  }
  waiting_.push_back({.id = next_id_++,
                      .asker = std::move(asker),
                      .text = std::move(text),
                      .is_forgotten = false,
                      .received_ns = 0});
  return waiting_.size() - 1 + (under_way_ ? 1 : 0);
}

void RequestQueue::forget(bool is_compat, std::uint64_t client) {
  const auto is_of_client = [&](const Request& request) {
    return request.asker.is_compat == is_compat && request.asker.client == client;
  };
  std::erase_if(waiting_, is_of_client);
  if (under_way_ && is_of_client(*under_way_)) under_way_->is_forgotten = true;
}

bool RequestQueue::next(std::string& text, std::int64_t now_ns) {
  if (under_way_ || waiting_.empty() || has_ended_) return false;
  under_way_ = std::move(waiting_.front());
  waiting_.pop_front();
  under_way_->received_ns = now_ns;
  text = std::move(under_way_->text);
  return true;
}

std::optional<Asker> RequestQueue::answered(const nlohmann::json& reply, std::int64_t now_ns) {
  const auto id = reply.find("id");
  const auto type = reply.find("type");
  if (!under_way_ || id == reply.end() || type == reply.end() || !type->is_string() ||
      Fields::whole_number(*id) != static_cast<std::int64_t>(under_way_->id))
    return std::nullopt;
  under_way_->received_ns = now_ns;
  std::optional<Asker> asker;
  if (!under_way_->is_forgotten) asker = under_way_->asker;
  if (*type == "finish" || *type == "error") under_way_.reset();
  return asker;
}

std::optional<Asker> RequestQueue::give_up() {
  std::optional<Asker> asker;
  if (!under_way_ && !waiting_.empty()) {
    asker = std::move(waiting_.front().asker);
    waiting_.pop_front();
  } else if (under_way_ && !under_way_->is_forgotten) {
    asker = std::move(under_way_->asker);
  }
  under_way_.reset();
  return asker;
}

bool RequestQueue::is_overdue(std::int64_t now_ns) const {
  return under_way_ && !has_ended_ &&
         now_ns - under_way_->received_ns >
             (under_way_->is_forgotten ? kForgottenTimeoutNs : kTimeoutNs);
}

}  // namespace megascope::live
