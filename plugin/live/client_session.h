#pragma once

#include "plugin/live/counted_stream.h"
#include "plugin/live/guest_budget.h"
#include "plugin/live/loop.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <memory>
#include <optional>

namespace megascope::live {

/// One client: reads what it says, and sends what the hub has for it, one message at a time. The
/// loop's thread.
class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  using Clock = std::chrono::steady_clock;

  /// id: of a client that the party knows; it is disconnected at the end.
  ClientSession(Loop& loop, Party& party, CountedStream stream, Party::ClientId id);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  void start(boost::beast::http::request<boost::beast::http::empty_body> request);
  /// Sends the next message, if there is one and none is on its way.
  void serve();
  /// When the last message to it was begun. The epoch: none was.
  Clock::time_point served_at() const { return began_; }
  /// At the end of the run, again and again: gives up a client that has something to take and took
  /// nothing for 100 ms.
  void give_up_if_stuck();
  /// When the time for that is over: gives up a client that has not received all but the verdict.
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
  /// Since it began to be sent, or the client last took a part of it.
  Clock::duration waited() const;
  /// Bytes that wait in the kernel, which takes more only when a good part of its room is free;
  /// nullopt: there is no connection.
  std::optional<int> unsent();
  void on_sent(const boost::system::error_code& error);
  void close(boost::beast::websocket::close_code code, const char* reason);

  Loop& loop_;
  Party& party_;
  Party::ClientId id_;
  boost::beast::websocket::stream<CountedStream> socket_;
  boost::beast::flat_buffer buffer_;
  boost::asio::steady_timer patience_;  ///< with a client that does not take what is sent
  GuestTurn read_turn_;
  boost::asio::steady_timer budget_timer_;  ///< for that turn
  boost::asio::steady_timer idle_timer_;    ///< of clients without token
  Outgoing message_;                        ///< on its way
  Clock::time_point began_;                 ///< when that was
  int left_ = -1;  ///< at the end of the run: bytes that wait in the kernel; -1: was not looked at
  Clock::time_point took_;  ///< when these were fewer than before
  bool is_open_ = false;
  bool is_pinging_ = false;
  bool is_sending_ = false;
  bool is_refused_ = false;  ///< gets its last words, and is closed
  bool is_closing_ = false;
};

}  // namespace megascope::live
