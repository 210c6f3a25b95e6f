#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace megascope::live {

/// The client that made a request: its protocol and id, and its own id of the request.
struct Asker {
  bool is_compat = false;
  std::uint64_t client = 0;
  std::string tag;  ///< JSON; empty: none
};

/// Queue of requests to the application. One request is active at a time. One thread.
class RequestQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 8;
  /// Part of kMaxWaiting that clients of the compatibility endpoint (unauthenticated) can use.
  static constexpr std::size_t kMaxCompatWaiting = 4;
  /// Timeout if the application does not answer the active request …
  static constexpr std::int64_t kTimeoutNs = 60'000'000'000;
  /// … and if its client has disconnected.
  static constexpr std::int64_t kForgottenTimeoutNs = 10'000'000'000;

  explicit RequestQueue(bool is_allowed) : is_allowed_(is_allowed) {}

  /// The application polls for requests.
  void open() { has_polls_ = true; }
  bool may_ask() const { return is_allowed_ && has_polls_ && !has_ended_; }
  /// Why no request can be made now, as a sentence; empty: requests are possible.
  std::string why_not() const;
  /// Queues a request. request: an object; gets an `id`. Returns the number of requests ahead of
  /// it. nullopt: rejected; `problem` says why.
  std::optional<std::size_t> ask(Asker asker, nlohmann::json request, std::string& problem);
  /// Removes a client: its queued requests are discarded, and the answer to its active request is
  /// not delivered.
  void forget(bool is_compat, std::uint64_t client);
  /// Activates the next request. text: receives the request for the application. Returns false,
  /// without effect, if a request is active or none is queued. now_ns: since the epoch.
  bool next(std::string& text, std::int64_t now_ns);
  /// Undoes next(), if the application has not fetched the request.
  void take_back() { under_way_.reset(); }
  /// Whether no client waits for the active request.
  bool is_unwanted() const { return !under_way_ || under_way_->is_forgotten; }
  /// Processes an answer. Returns the client that gets it; nullopt: none. `finish` and `error` end
  /// the active request.
  std::optional<Asker> answered(const nlohmann::json& reply, std::int64_t now_ns);
  /// Abandons the active request, or else the oldest queued one. Returns the client to inform;
  /// nullopt: none.
  std::optional<Asker> give_up();
  /// Whether the application has not answered for too long; call give_up() then.
  bool is_overdue(std::int64_t now_ns) const;
  void end() { has_ended_ = true; }

 private:
  struct Request {
    std::uint64_t id = 0;
    Asker asker;
    std::string text;
    bool is_forgotten = false;
    std::int64_t received_ns = 0;  ///< when it was activated or last answered
  };
  bool is_allowed_ = false;
  bool has_polls_ = false;
  bool has_ended_ = false;
  std::uint64_t next_id_ = 1;
  std::deque<Request> waiting_;
  std::optional<Request> under_way_;
};

}  // namespace megascope::live
