#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace megascope::live {

/// Who asked: a client of which protocol, and what it calls its request.
struct Asker {
  bool is_compat = false;
  std::uint64_t client = 0;
  std::string tag;  ///< JSON; empty: none
};

/// What clients ask the program to do: one request at a time, others wait. One thread.
class RequestDesk {
 public:
  static constexpr std::size_t kMostWaiting = 8;
  static constexpr std::size_t
      kMostCompatWaiting = 4;  ///< of them, of clients that need no token: others find room
  static constexpr std::int64_t
      kPatienceNs = 60'000'000'000;  ///< with a program that gives no answer to the one under way …
  static constexpr std::int64_t
      kForgottenPatienceNs = 10'000'000'000;  ///< … and whoever asked is gone

  explicit RequestDesk(bool is_allowed) : is_allowed_(is_allowed) {}

  /// The program asks for requests.
  void open() { has_polls_ = true; }
  bool may_ask() const { return is_allowed_ && has_polls_ && !has_ended_; }
  /// Why nobody may ask now, a sentence; empty: they may.
  std::string why_not() const;
  /// request: an object; it gets its `id`. Returns how many are before it; nullopt: there is no
  /// room, `problem` says which.
  std::optional<std::size_t> ask(Asker asker, nlohmann::json request, std::string& problem);
  /// A client is gone: what of it waits is forgotten, and of what is under way it hears nothing.
  void forget(bool is_compat, std::uint64_t client);
  /// What is to be handed to the program, once, when nothing else is under way. False: nothing is.
  /// Times: ns since the epoch.
  bool next(std::string& text, std::int64_t now_ns);
  /// What was handed out last was taken back before the program had it.
  void take_back() { under_way_.reset(); }
  /// Nobody waits for what was handed out last.
  bool is_unwanted() const { return !under_way_ || under_way_->is_forgotten; }
  /// The program answered: who is to hear it; nullopt: nobody. After `finish` and `error` the next
  /// request may go.
  std::optional<Asker> answered(const nlohmann::json& reply, std::int64_t now_ns);
  /// The one under way, or else the oldest that waits, will not be answered: as answered().
  std::optional<Asker> give_up();
  /// The program was silent for too long: give_up() is due.
  bool is_overdue(std::int64_t now_ns) const;
  void end() { has_ended_ = true; }

 private:
  struct Request {
    std::uint64_t id = 0;
    Asker asker;
    std::string text;
    bool is_forgotten = false;
    std::int64_t heard_ns = 0;  ///< of it last: when it was handed out, or answered
  };
  bool is_allowed_ = false;
  bool has_polls_ = false;
  bool has_ended_ = false;
  std::uint64_t next_id_ = 1;
  std::deque<Request> waiting_;
  std::optional<Request> under_way_;
};

}  // namespace megascope::live
