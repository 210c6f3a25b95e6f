#pragma once

#include "core/base/status.h"
#include "core/lifecycle/live_server.h"
#include "plugin/live/compat/hub.h"
#include "plugin/live/http/access.h"
#include "plugin/live/hub/hub.h"
#include "plugin/live/protocol/unauthenticated_budget.h"
#include "plugin/live/server/inbox.h"
#include "plugin/live/sessions/session_owner.h"

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace megascope::live {

class HttpSession;

/// Event loop of the live view: sockets, timers and the hub. A comment marks the functions that the
/// application's threads may call. All other functions are for the loop's thread.
class Loop final : public SessionOwner {
 public:
  Loop(const LiveSettings& settings, std::string token);
  ~Loop() override = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Listens on the loopback interface. Call before run(). port: if it is 0, a free port is chosen
  /// and stored in it.
  Status listen(std::uint16_t& port);
  /// As listen(), for the compatibility endpoint. Optional.
  Status listen_compat(std::uint16_t& port);
  /// The function of the loop's thread. Returns when the run has ended and each client has received
  /// all messages or was disconnected.
  void run() noexcept;

  // For the application's threads; none of these blocks.
  bool take(LiveKind kind, std::int32_t world_rank, std::span<const std::byte> bytes) noexcept;
  bool take_whole(LiveKind kind, std::int32_t world_rank, std::vector<std::byte>&& bytes) noexcept;
  bool changed_capture_requests(std::vector<std::byte>& capture_requests) noexcept;
  bool next_request(std::string& request) noexcept;
  void ask_to_end(bool is_aborted, std::uint64_t linger_ms) noexcept;
  /// Call after ask_to_end(). Passes the verdict, which clients get before they are closed. It is
  /// ignored if memory runs out.
  void conclude(std::string_view verdict) noexcept;
  /// Call after ask_to_end() if no verdict follows. No effect after conclude().
  void ask_to_close() noexcept;
  /// Whether run() has returned.
  bool is_over() const noexcept { return is_over_; }

  boost::asio::io_context& context() override { return context_; }
  const Access& access() const override { return access_; }
  Hub& hub() override { return hub_; }
  ProtocolEndpoint& endpoint(bool is_compat) override {
    return is_compat ? static_cast<ProtocolEndpoint&>(*compat_) : hub_;
  }
  void add(ClientSession* session) override { sessions_.insert(session); }
  void remove(ClientSession* session) override;
  void count_connection(const ProtocolEndpoint& endpoint, int difference) override {
    of(&endpoint == compat_.get()).connections += difference;
  }
  void publish() override;

 private:
  /// Holds one value until another thread takes it. A newer value replaces one that was not taken.
  template <class Content>
  struct Newest {
    std::atomic<Content*> content{nullptr};
    ~Newest() { delete content.exchange(nullptr); }
    void put(std::unique_ptr<Content> news) noexcept { delete content.exchange(news.release()); }
    /// Moves the value to `to`. Returns false if there is no new value.
    bool take(Content& to) noexcept {
      const std::unique_ptr<Content> news(content.exchange(nullptr));
      if (news) to = std::move(*news);
      return news != nullptr;
    }
  };
  using Acceptor = boost::asio::ip::tcp::acceptor;

  Status open_wake();
  void wake() noexcept;
  void wait_for_wake();
  void wait_for_tick();
  void accept(Acceptor& acceptor, bool is_compat);
  void accept_on(Acceptor& acceptor, bool is_compat);
  void accept_later(Acceptor& acceptor, bool is_compat);
  void take_in();
  void serve_all();
  void take_in_and_end();
  void begin_end();
  /// Disconnects clients that accept no data.
  void wait_for_clients();
  /// Disconnects clients that have not received the end. The other clients stay connected until the
  /// verdict.
  void end_linger();
  void begin_close();

  // Declared before the context, which may hold sessions until it is destroyed.
  Hub hub_;
  std::unique_ptr<CompatHub> compat_;
  /// Turn of the budget for accepting connections to the compatibility endpoint.
  std::optional<UnauthenticatedTurn> accept_turn_;
  Access access_;
  Inbox inbox_;
  Newest<std::vector<std::byte>> capture_requests_;
  Newest<std::string> request_;
  Newest<std::string> verdict_;
  std::atomic<bool> is_to_end_{false};
  std::atomic<bool> is_to_close_{false};
  std::atomic<bool> is_aborted_{false};
  std::atomic<std::uint64_t> linger_ms_{0};
  std::set<ClientSession*> sessions_;
  /// Connections of one port. Each port has its own limits, so that connections to one cannot block
  /// the other.
  struct Connections {
    int connections = 0;
    /// Unauthenticated connections, oldest first.
    std::deque<std::weak_ptr<HttpSession>> unauthenticated;
  };
  Connections& of(bool is_compat) { return connections_[is_compat ? 1 : 0]; }
  bool has_space(bool is_compat);
  void welcome(boost::asio::ip::tcp::socket socket, bool is_compat);
  std::array<Connections, 2> connections_;
  bool is_ending_ = false;
  bool is_closing_ = false;  ///< clients no longer wait for a verdict
  std::atomic<bool> is_over_{false};
  boost::asio::io_context context_{1};
  boost::asio::posix::stream_descriptor wake_;
  boost::asio::steady_timer tick_;
  boost::asio::steady_timer deadline_;
  /// When clients are disconnected at the end of the run.
  std::chrono::steady_clock::time_point until_;
  using Acceptors = std::array<Acceptor, 2>;
  Acceptors acceptors_;  ///< IPv4, and IPv6 if available
  Acceptors compat_acceptors_;
};

}  // namespace megascope::live
