#pragma once

#include "plugin/live/protocol/unauthenticated_budget.h"
#include "plugin/live/sessions/counted_stream.h"
#include "plugin/live/sessions/session_owner.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <memory>
#include <optional>

namespace megascope::live {

/// One WebSocket client. Passes the client's messages to a ProtocolEndpoint, and sends the messages
/// that the endpoint returns, one at a time. Only on the loop's thread.
class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  using Clock = std::chrono::steady_clock;

  /// id: the client's id, which endpoint.connect() returned. The destructor calls
  /// endpoint.disconnect().
  ClientSession(SessionOwner& owner, ProtocolEndpoint& endpoint, CountedStream stream,
                ProtocolEndpoint::ClientId id);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Accepts the WebSocket upgrade and starts reading.
  void start(boost::beast::http::request<boost::beast::http::empty_body> request);
  /// Sends the next message, if there is one and none is being sent.
  void serve();
  /// Returns when sending of the latest message started. Returns the clock's epoch if no message
  /// was sent.
  Clock::time_point served_at() const { return began_; }
  /// At the end of the run, called periodically: closes a client that has messages queued and has
  /// accepted no bytes for 250 ms.
  void give_up_if_stuck();
  /// At the end of the run, after the linger time: closes a client that has not received everything
  /// except the verdict.
  void give_up_if_behind();
  /// Closes the socket.
  void give_up();

 private:
  void set_options();
  void read();
  void on_message();
  bool take_message();
  void read_on();
  void watch_idleness();
  void look_whether_idle();
  void refuse();
  void send();
  void wait_for_client(Clock::duration delay);
  /// Time since the current message started, or since the client last accepted bytes of it.
  Clock::duration waited() const;
  /// Returns the number of bytes in the kernel's send buffer; nullopt if the socket is not
  /// connected. The kernel accepts more bytes only when a large part of the buffer is free.
  std::optional<int> unsent();
  void on_sent(const boost::system::error_code& error);
  void close(boost::beast::websocket::close_code code, const char* reason);

  SessionOwner& owner_;
  ProtocolEndpoint& endpoint_;
  ProtocolEndpoint::ClientId id_;
  boost::beast::websocket::stream<CountedStream> socket_;
  boost::beast::flat_buffer buffer_;
  boost::asio::steady_timer timeout_;  ///< timeout of a client that does not accept what is sent
  UnauthenticatedTurn read_turn_;
  boost::asio::steady_timer budget_timer_;  ///< polls the budget for read_turn_
  boost::asio::steady_timer idle_timer_;    ///< detects that an unauthenticated client is idle
  Outgoing message_;                        ///< message that is being sent
  Clock::time_point began_;                 ///< when sending of message_ started
  int left_ = -1;  ///< at the end of the run: bytes in the kernel's buffer; -1: not checked yet
  Clock::time_point took_;    ///< when left_ last decreased
  Clock::duration stuck_{0};  ///< time in which the client accepted nothing, at the latest check
  unsigned looks_ = 0;        ///< number of checks since the client last accepted bytes
  bool is_open_ = false;
  bool is_pinging_ = false;
  bool is_sending_ = false;
  bool is_refused_ = false;  ///< receives its remaining replies, then is closed
  bool is_closing_ = false;
};

}  // namespace megascope::live
