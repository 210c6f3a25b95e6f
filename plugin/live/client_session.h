#pragma once

#include <chrono>
#include <memory>

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "plugin/live/loop.h"

namespace megascope::live {

/// One client: reads what it says, and sends what the hub has for it, one message at a time. The loop's thread.
class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  /// id: of a client that the hub knows; it is disconnected at the end.
  ClientSession(Loop& loop, boost::beast::tcp_stream stream, Hub::ClientId id);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  void start(boost::beast::http::request<boost::beast::http::empty_body> request);
  /// Sends the next message, if there is one and none is on its way.
  void serve();
  /// The run is over: one that does not take what has been on its way for a while is given up.
  void hurry();

 private:
  void set_options();
  void read();
  void on_message();
  void refuse();
  void send();
  void on_sent(const boost::system::error_code& error);
  void close(boost::beast::websocket::close_code code, const char* reason);
  void give_up();

  Loop& loop_;
  Hub::ClientId id_;
  boost::beast::websocket::stream<boost::beast::tcp_stream> socket_;
  boost::beast::flat_buffer buffer_;
  boost::asio::steady_timer patience_;  ///< with a client that does not take what is sent
  Outgoing message_;                    ///< on its way
  std::chrono::steady_clock::time_point sends_since_{};
  bool is_open_ = false;
  bool is_sending_ = false;
  bool is_refused_ = false;  ///< gets its last words, and is closed
  bool is_closing_ = false;
};

}  // namespace megascope::live
