#pragma once

#include "plugin/live/http/answers.h"
#include "plugin/live/protocol/unauthenticated_budget.h"
#include "plugin/live/sessions/counted_stream.h"
#include "plugin/live/sessions/session_owner.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>

namespace megascope::live {

/// One connection with one HTTP request. After the access check the request is answered, or the
/// connection becomes a ClientSession. The loop's thread.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  /// is_compat: the connection came to the compatibility endpoint.
  HttpSession(SessionOwner& owner, boost::asio::ip::tcp::socket socket, bool is_compat);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  /// Starts reading the request.
  void start();
  /// Returns whether the connection is unauthenticated: the client has not sent the token yet, or
  /// access was refused.
  bool is_unauthenticated() const { return is_unauthenticated_; }
  /// Closes the socket.
  void give_up();

 private:
  using Request = boost::beast::http::request<boost::beast::http::empty_body>;

  void await_request();
  void read_when_open();
  void read_request();
  void on_request(const boost::system::error_code& error);
  void judge(Request&& request);
  void judge_compat(Request&& request);
  void serve(Request&& request, const std::string& host);
  void send(Answer answer, bool has_body, const std::string& host);
  template <class Response>
  void write(std::shared_ptr<Response> response);
  void finish();
  ProtocolEndpoint& endpoint() const;

  SessionOwner& owner_;
  bool is_compat_;
  bool is_unauthenticated_ = true;
  CountedStream stream_;
  UnauthenticatedTurn turn_;
  /// Handshake timeout of an unauthenticated client. Later it polls the budget.
  boost::asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> parser_;
};

}  // namespace megascope::live
