#include "plugin/live/sessions/client_session.h"

#include "core/base/clock.h"
#include "plugin/live/protocol/bounds.h"

#include <algorithm>
#include <chrono>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <utility>

namespace megascope::live {
namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

constexpr std::chrono::seconds kTimeout{kIdleSeconds};
constexpr std::chrono::milliseconds kBudgetLook{kBudgetLookMs};
constexpr std::uint64_t
    kPongBytes = 64;  ///< approximate size of a reply to a ping, which Beast sends while reading
constexpr std::uint64_t kPongCpuNs = 20'000;
/// Kernel send buffer; data in it can no longer be replaced by newer data.
constexpr int kSendBuffer = 256 << 10;

}  // namespace

ClientSession::ClientSession(SessionOwner& owner, ProtocolEndpoint& endpoint, CountedStream stream,
                             ProtocolEndpoint::ClientId id)
    : owner_(owner),
      endpoint_(endpoint),
      id_(id),
      socket_(std::move(stream)),
      buffer_(kMaxMessageBytes),
      timeout_(owner.context()),
      read_turn_(endpoint.budget()),
      budget_timer_(owner.context()),
      idle_timer_(owner.context()) {
  owner_.count_connection(endpoint_, 1);
  owner_.add(this);
}

ClientSession::~ClientSession() {
  owner_.count_connection(endpoint_, -1);
  owner_.remove(this);
  try {
    endpoint_.disconnect(id_);
    owner_.publish();
  } catch (const std::exception&) {
    // Out of memory: capture requests are released by the next disconnect or tick.
  }
}

void ClientSession::set_options() {
  websocket::stream_base::timeout timeout{};
  timeout.handshake_timeout = std::chrono::seconds(kHandshakeSeconds);
  const bool is_unauthenticated = endpoint_.budget() != nullptr;
  timeout.idle_timeout = is_unauthenticated ? websocket::stream_base::none()
                                            : kTimeout;  // Beast sends a ping after half of it
  timeout.keep_alive_pings = !is_unauthenticated;
  socket_.set_option(timeout);
  socket_.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
    response.set(beast::http::field::cache_control, "no-store");
  }));
  socket_.read_message_max(kMaxMessageBytes);
  socket_.auto_fragment(false);
  error_code ignored;
  beast::get_lowest_layer(socket_).socket().set_option(
      boost::asio::socket_base::send_buffer_size(kSendBuffer), ignored);
  // Pings count as messages, because each is answered.
  socket_.control_callback([this](websocket::frame_type, beast::string_view) {
    // Authenticated clients may send only pings for a long time. For others, control frames do not
    // reset the limit of an incomplete message.
    if (UnauthenticatedBudget* const budget = endpoint_.budget())
      budget->spend(kPongBytes, kPongCpuNs);
    else
      beast::get_lowest_layer(socket_).rate_policy().note_message();
    if (!endpoint_.count_message(id_, clock::realtime_ns())) refuse();
  });
}

void ClientSession::start(beast::http::request<beast::http::empty_body> request) {
  set_options();
  auto kept = std::make_shared<beast::http::request<beast::http::empty_body>>(std::move(request));
  socket_.async_accept(*kept, [self = shared_from_this(), kept](const error_code& error) {
    if (error) return;
    self->is_open_ = true;
    if (self->endpoint_.budget() != nullptr) self->watch_idleness();
    self->read_on();
    self->serve();
  });
}

void ClientSession::read() {
  socket_.async_read(buffer_, [self = shared_from_this()](const error_code& error, std::size_t) {
    if (error) return self->give_up();  // Beast has sent the close code: 1002, 1007 or 1009
    self->on_message();
  });
}

void ClientSession::on_message() {
  beast::get_lowest_layer(socket_).rate_policy().note_message();
  if (is_closing_ || is_refused_) return;
  if (socket_.got_binary())
    return close(websocket::close_code::unknown_data, "only text messages are accepted");
  if (!take_message()) return refuse();
  serve();
  read_on();
}

bool ClientSession::take_message() {
  UnauthenticatedCharge charge(endpoint_.budget());
  const boost::asio::const_buffer bytes = buffer_.data();
  const bool may_stay = endpoint_.receive(
      id_, {static_cast<const char*>(bytes.data()), bytes.size()}, clock::realtime_ns());
  buffer_.consume(buffer_.size());
  owner_.publish();
  return may_stay;
}

/// Reads the next message, once the budget allows it.
void ClientSession::read_on() {
  if (!owner_.hub().is_running() || read_turn_.has_come(clock::realtime_ns())) return read();
  budget_timer_.expires_after(kBudgetLook);
  budget_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error && !self->is_closing_) self->read_on();
  });
}

/// Replaces Beast's idle timeout, which would close a client whose bytes wait for the budget.
void ClientSession::watch_idleness() {
  // A ping is sent between half and three quarters of the timeout.
  idle_timer_.expires_after(kTimeout / 4);
  idle_timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    const std::shared_ptr<ClientSession> self = weak.lock();
    if (error || !self || self->is_closing_) return;
    self->look_whether_idle();
    if (!self->is_closing_) self->watch_idleness();
  });
}

void ClientSession::look_whether_idle() {
  auto& stream = beast::get_lowest_layer(socket_);
  if (stream.rate_policy().is_endless()) return give_up();
  error_code error;
  const bool has_unread_bytes = stream.socket().available(error) != 0;
  const Clock::duration silence = Clock::now() - stream.rate_policy().reported_at();
  if (error || (!has_unread_bytes && silence > kTimeout)) return give_up();
  if (has_unread_bytes || silence < kTimeout / 2 || std::exchange(is_pinging_, true)) return;
  socket_.async_ping({},
                     [self = shared_from_this()](const error_code&) { self->is_pinging_ = false; });
}

void ClientSession::refuse() {
  is_refused_ = true;
  serve();
}

void ClientSession::serve() {
  if (!is_open_ || is_sending_ || is_closing_) return;
  UnauthenticatedBudget* const budget = endpoint_.budget();
  const bool is_held = budget != nullptr &&
                       !budget->is_open(
                           clock::realtime_ns());  // notices about the closed budget are free
  UnauthenticatedCharge charge(is_held ? nullptr : budget);
  message_ = {};
  if (is_refused_) {
    message_.is_text = endpoint_.next_reply(id_, message_.text);
    return message_.is_text ? send()
                            : close(websocket::close_code::policy_error, "too many messages");
  }
  if (endpoint_.next(id_, clock::realtime_ns(), message_)) {
    charge.add_bytes(message_.text.size() + message_.frame.size());
    return send();
  }
  if (endpoint_.has_received_all(id_)) close(websocket::close_code::normal, "the run has ended");
}

void ClientSession::send() {
  is_sending_ = true;
  began_ = Clock::now();
  wait_for_client(kTimeout);
  socket_.text(message_.is_text);
  const boost::asio::const_buffer bytes = message_.is_text ? boost::asio::buffer(message_.text)
                                                           : boost::asio::buffer(message_.frame);
  socket_.async_write(bytes, [self = shared_from_this()](const error_code& error, std::size_t) {
    self->on_sent(error);
  });
}

/// A slow client is not closed as long as it accepts bytes.
void ClientSession::wait_for_client(Clock::duration delay) {
  timeout_.expires_after(delay);
  timeout_.async_wait([weak = weak_from_this()](const error_code& error) {
    const std::shared_ptr<ClientSession> self = weak.lock();
    if (error || !self || !self->is_sending_) return;
    if (const Clock::duration waited = self->waited(); waited < kTimeout)
      self->wait_for_client(kTimeout - waited);
    else
      self->give_up();
  });
}

ClientSession::Clock::duration ClientSession::waited() const {
  return Clock::now() - std::max(began_, beast::get_lowest_layer(socket_).rate_policy().at());
}

void ClientSession::give_up_if_stuck() {
  // Longer than 200 ms: before that, TCP of Linux does not ask again a client that had no space.
  constexpr std::chrono::milliseconds kStuck{250};
  // Where this thread had no core for a while, time alone says nothing about the client.
  constexpr unsigned kLooks = 5;
  const bool is_idle = !is_sending_ && !is_closing_;
  if (is_idle && !endpoint_.is_waiting_for_verdict(id_)) return;
  const std::optional<int> left = unsent();
  if (!left) return give_up();
  if (is_idle && *left == 0) return;
  if (left_ < 0 || *left < left_) took_ = Clock::now();
  left_ = *left;
  const Clock::duration stuck = std::min(waited(), Clock::now() - took_);
  looks_ = stuck < stuck_ ? 0 : looks_ + 1;
  stuck_ = stuck;
  if (stuck >= kStuck && looks_ >= kLooks) give_up();
}

std::optional<int> ClientSession::unsent() {
  int left = 0;
  if (ioctl(beast::get_lowest_layer(socket_).socket().native_handle(), SIOCOUTQ, &left) != 0)
    return std::nullopt;
  return left;
}

void ClientSession::give_up_if_behind() {
  if (is_sending_ || is_closing_ || !endpoint_.is_waiting_for_verdict(id_) || unsent() != 0)
    give_up();
}

void ClientSession::on_sent(const error_code& error) {
  is_sending_ = false;
  timeout_.cancel();
  if (error) return give_up();
  serve();
}

void ClientSession::close(websocket::close_code code, const char* reason) {
  if (std::exchange(is_closing_, true)) return;
  began_ = Clock::now();
  socket_.async_close(websocket::close_reason(code, reason),
                      [self = shared_from_this()](const error_code&) { self->give_up(); });
}

/// Closes the socket: all pending operations fail, which ends the session.
void ClientSession::give_up() {
  is_closing_ = true;
  timeout_.cancel();
  budget_timer_.cancel();
  idle_timer_.cancel();
  beast::get_lowest_layer(socket_).close();
}

}  // namespace megascope::live
