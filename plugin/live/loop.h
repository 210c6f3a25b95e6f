#pragma once

#include "core/base/status.h"
#include "core/lifecycle/live_server.h"
#include "plugin/live/access.h"
#include "plugin/live/compat_hub.h"
#include "plugin/live/guest_budget.h"
#include "plugin/live/hub.h"
#include "plugin/live/inbox.h"

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

class ClientSession;
class HttpSession;

std::int64_t now_since_epoch_ns();

/// Sockets around the hub, and the thread's work. What the application's thread may call is said;
/// all else is the thread's.
class Loop {
 public:
  Loop(const LiveSettings& settings, std::string token);
  ~Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Before the thread: listens on loopback. port: 0 becomes the one that was free.
  Status listen(std::uint16_t& port);
  /// The same for the compatibility endpoint; without it there is none.
  Status listen_compat(std::uint16_t& port);
  /// The thread: returns when the run is over and clients were told, or are given up.
  void run() noexcept;

  // Of the application's thread; none of these waits.
  bool take(LiveKind kind, std::int32_t world_rank, std::span<const std::byte> bytes) noexcept;
  bool take_whole(LiveKind kind, std::int32_t world_rank, std::vector<std::byte>&& bytes) noexcept;
  bool changed_wishes(std::vector<std::byte>& wishes) noexcept;
  bool next_request(std::string& request) noexcept;
  void ask_to_end(bool is_aborted, std::uint64_t linger_ms) noexcept;
  /// After ask_to_end(): the verdict for the clients, of which this is the end. Nothing happens
  /// where memory runs out.
  void conclude(std::string_view verdict) noexcept;
  /// After ask_to_end(): no verdict follows, if none came before.
  void ask_to_close() noexcept;
  /// The thread is done.
  bool is_over() const noexcept { return is_over_; }

  // Of sessions.
  Hub& hub() { return hub_; }
  /// Null: it is not served.
  CompatHub* compat() { return compat_.get(); }
  const Access& access() const { return access_; }
  boost::asio::io_context& context() { return context_; }
  void add(ClientSession* session) { sessions_.insert(session); }
  void remove(ClientSession* session);
  /// One connection more or less of those who speak with this party.
  void count_connection(const Party& party, int difference) {
    of(&party == compat_.get()).connections += difference;
  }
  /// After a client spoke or went, or ranks told something: what all want may have changed, and
  /// what they ask for.
  void publish();

 private:
  /// The last thing that the application's thread did not fetch yet.
  template <class Content>
  struct Newest {
    std::atomic<Content*> content{nullptr};
    ~Newest() { delete content.exchange(nullptr); }
    void put(std::unique_ptr<Content> news) noexcept { delete content.exchange(news.release()); }
    /// False: there is nothing new.
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
  /// Those that take nothing are not waited for.
  void wait_for_clients();
  /// Who has received the end stays connected until the verdict; the others are given up.
  void end_linger();
  void begin_close();

  // Before the context, which may hold sessions until it goes.
  Hub hub_;
  std::unique_ptr<CompatHub> compat_;
  std::optional<GuestTurn> accept_turn_;  ///< of its acceptors
  Access access_;
  Inbox inbox_;
  Newest<std::vector<std::byte>> wishes_;
  Newest<std::string> request_;
  Newest<std::string> verdict_;
  std::atomic<bool> is_to_end_{false};
  std::atomic<bool> is_to_close_{false};
  std::atomic<bool> is_aborted_{false};
  std::atomic<std::uint64_t> linger_ms_{0};
  std::set<ClientSession*> sessions_;
  /// Connections to the live view's port or to the compatibility endpoint's: neither can keep the
  /// other's out.
  struct Connections {
    int connections = 0;
    std::deque<std::weak_ptr<HttpSession>>
        strangers;  ///< who did not show yet that they may, the oldest first
  };
  Connections& of(bool is_compat) { return connections_[is_compat ? 1 : 0]; }
  bool has_room(bool is_compat);
  void welcome(boost::asio::ip::tcp::socket socket, bool is_compat);
  std::array<Connections, 2> connections_;
  bool is_ending_ = false;
  bool is_closing_ = false;  ///< clients do not wait for a verdict any more
  std::atomic<bool> is_over_{false};
  boost::asio::io_context context_{1};
  boost::asio::posix::stream_descriptor wake_;
  boost::asio::steady_timer tick_;
  boost::asio::steady_timer deadline_;
  std::chrono::steady_clock::time_point until_;  ///< when clients are given up at the end
  using Acceptors = std::array<Acceptor, 2>;
  Acceptors acceptors_;  ///< IPv4, and IPv6 if it is there
  Acceptors compat_acceptors_;
};

}  // namespace megascope::live
