#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace megascope::live {

/// The client that made a request.
struct Asker {
  bool is_compat = false;    ///< a client of the compatibility endpoint
  std::uint64_t client = 0;  ///< id of the client in its protocol
  std::string tag;           ///< id that the client gave its request, as JSON; empty: none
};

/// Queue of clients' requests to the application. At most one request is active, that is, handed to
/// the application and not finished. One thread.
class RequestQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 8;
  /// Part of kMaxWaiting that clients of the compatibility endpoint (unauthenticated) can use.
  static constexpr std::size_t kMaxCompatWaiting = 4;
  /// The active request is overdue if the application has not answered it for this time.
  static constexpr std::int64_t kTimeoutNs = 60'000'000'000;
  /// The active request of a client that has disconnected is overdue after this time without
  /// answer.
  static constexpr std::int64_t kForgottenTimeoutNs = 10'000'000'000;

  explicit RequestQueue(bool is_allowed) : is_allowed_(is_allowed) {}

  /// Call when the application has begun to poll for requests.
  void open() { has_polls_ = true; }
  bool may_ask() const { return is_allowed_ && has_polls_ && !has_ended_; }
  /// Returns a sentence that says why no request can be made now. Returns an empty string if
  /// requests can be made.
  std::string why_not() const;
  /// Queues a request and adds an `id` to it. request: a JSON object. Returns the number of
  /// requests that precede it. If the request is rejected, returns nullopt and sets `problem`.
  std::optional<std::size_t> ask(Asker asker, nlohmann::json request, std::string& problem);
  /// Removes a client: its queued requests are discarded, and the answer to its active request is
  /// not delivered.
  void forget(bool is_compat, std::uint64_t client);
  /// Activates the next request. text: receives the request for the application. Returns false,
  /// without effect, if a request is active or none is queued. now_ns: since the epoch.
  bool next(std::string& text, std::int64_t now_ns);
  /// Undoes next(), if the application has not fetched the request.
  void take_back() { under_way_.reset(); }
  /// Returns whether no client waits for an answer: no request is active, or the client of the
  /// active one has disconnected.
  bool is_unwanted() const { return !under_way_ || under_way_->is_forgotten; }
  /// Processes an answer of the application. An answer of type `finish` or `error` ends the active
  /// request. Returns the client that gets the answer; nullopt if no client gets it.
  std::optional<Asker> answered(const nlohmann::json& reply, std::int64_t now_ns);
  /// Abandons the active request, or the oldest queued one if none is active. Returns the client
  /// that must be informed; nullopt if there is none.
  std::optional<Asker> give_up();
  /// Returns whether the active request is overdue. The caller then calls give_up().
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
