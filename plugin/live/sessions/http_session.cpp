#include "plugin/live/sessions/http_session.h"

#include "core/base/clock.h"
#include "core/base/text.h"
#include "plugin/live/http/access.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/sessions/client_session.h"

#include <boost/asio/read.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <chrono>
#include <utility>

namespace megascope::live {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

constexpr std::chrono::seconds kHandshake{kHandshakeSeconds};
constexpr std::chrono::seconds kTimeout{kIdleSeconds};
constexpr std::chrono::milliseconds kBudgetLook{kBudgetLookMs};
/// CPU time to accept, answer and close a connection, in addition to what is measured or charged
/// for reading.
constexpr std::uint64_t kCpuNsOfConnection = 150'000;

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

template <class Request>
Credentials credentials_of(const Request& request) {
  return {.target = view_of(request.target()),
          .authorization = view_of(request[http::field::authorization]),
          .host = view_of(request[http::field::host]),
          .origin = view_of(request[http::field::origin]),
          .has_origin = request.count(http::field::origin) != 0,
          .has_one_host = request.count(http::field::host) == 1 &&
                          request.count(http::field::origin) <= 1};
}

/// Sets the response headers. host: the accepted name of this server in the request; empty: the
/// request was refused. Scripts and styles of the page are inline.
template <class Fields>
void set_headers(Fields& fields, const Answer& answer, const std::string& host) {
  const std::string socket = host.empty() ? std::string() : " ws://" + host + " wss://" + host;
  fields.set(http::field::content_type, answer.type);
  fields.set(http::field::cache_control, "no-store");
  fields.set("Content-Security-Policy",
             "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src "
             "data: blob:; font-src data:; connect-src 'self'" +
                 socket +
                 "; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
  fields.set("Cross-Origin-Opener-Policy", "same-origin");
  if (answer.status == 401) fields.set(http::field::www_authenticate, "Bearer");
  if (answer.status == 405) fields.set(http::field::allow, "GET, HEAD");
  if (answer.status == 426) fields.set(http::field::upgrade, "websocket");
}

/// Whether the client is a browser: programs send only `*/*`.
bool accepts_html(std::string_view accept) {
  return lower_case(accept).find("text/html") != std::string::npos;
}

}  // namespace

HttpSession::HttpSession(SessionOwner& owner, boost::asio::ip::tcp::socket socket, bool is_compat)
    : owner_(owner),
      is_compat_(is_compat),
      stream_(std::move(socket)),
      turn_(endpoint().budget()),
      timer_(owner.context()),
      buffer_(2 * kMaxHeaderBytes) {
  owner_.count_connection(endpoint(), 1);
}

HttpSession::~HttpSession() { owner_.count_connection(endpoint(), -1); }

ProtocolEndpoint& HttpSession::endpoint() const { return owner_.endpoint(is_compat_); }

void HttpSession::start() {
  error_code ignored;
  stream_.socket().set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  parser_.emplace();
  parser_->header_limit(kMaxHeaderBytes);
  parser_->body_limit(0);
  stream_.rate_policy().charge(endpoint().budget());
  UnauthenticatedBudget* const budget = endpoint().budget();
  if (budget == nullptr) return read_request();
  budget->spend(0, kCpuNsOfConnection);
  await_request();
}

void HttpSession::give_up() {
  timer_.cancel();
  stream_.close();
}

/// Waits for the first byte. The handshake timeout starts afterwards, so that waiting for the
/// budget does not count.
void HttpSession::await_request() {
  timer_.expires_after(kHandshake);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->stream_.close();
  });
  stream_.socket().async_wait(boost::asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this()](const error_code& error) {
                                self->timer_.cancel();
                                if (!error) self->read_when_open();
                              });
}

void HttpSession::read_when_open() {
  if (!stream_.socket().is_open()) return;
  if (!owner_.hub().is_running() || turn_.has_come(clock::realtime_ns())) return read_request();
  timer_.expires_after(kBudgetLook);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->read_when_open();
  });
}

void HttpSession::read_request() {
  stream_.expires_after(kHandshake);  // limit for the whole request
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                            self->on_request(error);
                          });
}

void HttpSession::on_request(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return send(error_answer(431, "The request header is larger than 8 KiB."), true, {});
  if (error.category() == http::make_error_code(http::error::end_of_stream).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message)
    return send(error_answer(400, "The request is not HTTP/1.1."), true, {});
  if (error) return;
  if (is_compat_)
    judge_compat(parser_->release());
  else
    judge(parser_->release());
}

void HttpSession::judge(Request&& request) {
  const bool is_get = request.method() == http::verb::get;
  const bool has_body = request.method() != http::verb::head;
  const Refusal refusal = owner_.access().judge(credentials_of(request));
  const bool wants_page = path_of(view_of(request.target())) == "/" &&
                          accepts_html(view_of(request[http::field::accept]));
  if (refusal.status == 401 && wants_page) return send(no_token_answer(), has_body, {});
  if (refusal.status != 0) return send(error_answer(refusal.status, refusal.text), has_body, {});
  is_unauthenticated_ = false;
  const std::string host(view_of(request[http::field::host]));
  if (!is_get && has_body)
    return send(error_answer(405, "Only GET and HEAD are supported."), true, host);
  const std::string path(path_of(view_of(request.target())));
  if (path != "/ws/v1" || !beast::websocket::is_upgrade(request))
    return send(answer_to(path, owner_.hub()), has_body, host);
  serve(std::move(request), host);
}

/// Accepts any path, as the reference servers do.
void HttpSession::judge_compat(Request&& request) {
  UnauthenticatedCharge charge(endpoint().budget());
  const bool has_body = request.method() != http::verb::head;
  const Refusal refusal = owner_.access().judge_compat(credentials_of(request));
  if (refusal.status != 0) return send(error_answer(refusal.status, refusal.text), has_body, {});
  const std::string host(view_of(request[http::field::host]));
  if (beast::websocket::is_upgrade(request)) return serve(std::move(request), host);
  send(error_answer(
           426,
           "This port accepts WebSocket connections only, with the protocol of MegatronApp or of "
           "Megatron's tensor tracer."),
       has_body, host);
}

void HttpSession::serve(Request&& request, const std::string& host) {
  if (buffer_.size() != 0)
    return send(error_answer(400, "The client sent data before the upgrade was accepted."), true,
                host);
  const std::optional<ProtocolEndpoint::ClientId> id = owner_.hub().is_running()
                                                           ? endpoint().connect(
                                                                 clock::realtime_ns())
                                                           : std::nullopt;
  if (!id)
    return send(error_answer(503, "The limit of " +
                                      std::to_string(is_compat_ ? kMaxCompatClients : kMaxClients) +
                                      " clients is reached, or the run has ended."),
                true, host);
  stream_.expires_never();
  is_unauthenticated_ = false;
  std::make_shared<ClientSession>(owner_, endpoint(), std::move(stream_), *id)
      ->start(std::move(request));
}

void HttpSession::send(Answer answer, bool has_body, const std::string& host) {
  const auto fill = [&](auto& response) {
    response.version(11);
    response.result(answer.status);
    response.keep_alive(false);
    set_headers(response, answer, host);
    response.content_length(answer.body.size());
  };
  if (has_body) {
    auto response = std::make_shared<http::response<http::string_body>>();
    fill(*response);
    response->body() = std::move(answer.body);
    write(std::move(response));
  } else {
    auto response = std::make_shared<http::response<http::empty_body>>();
    fill(*response);
    write(std::move(response));
  }
}

template <class Response>
void HttpSession::write(std::shared_ptr<Response> response) {
  stream_.expires_after(kTimeout);
  Response& content = *response;
  http::async_write(
      stream_, content,
      [self = shared_from_this(), response](const error_code&, std::size_t) { self->finish(); });
}

/// Reads the rest of the request before closing. Otherwise the kernel would reset the connection,
/// and the client could lose the answer.
void HttpSession::finish() {
  error_code ignored;
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(1));
  buffer_.clear();
  boost::asio::async_read(stream_, buffer_,
                          [self = shared_from_this()](const error_code&, std::size_t) {});
}

}  // namespace megascope::live
