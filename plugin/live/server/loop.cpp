#include "plugin/live/server/loop.h"

#include "core/base/clock.h"
#include "plugin/live/protocol/bounds.h"
#include "plugin/live/sessions/client_session.h"
#include "plugin/live/sessions/http_session.h"

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <chrono>
#include <exception>
#include <fcntl.h>
#include <new>
#include <optional>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace megascope::live {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::milliseconds kAcceptLater{200};
constexpr int kMaxFailures = 1000;

/// Length of the longest prefix with at most `most` bytes that does not split a UTF-8 character.
std::size_t length_of_start(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return most;
}

/// Listens on an endpoint; returns the first error.
error_code listen_at(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (error) return error;
  fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
  acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (endpoint.protocol() == tcp::v6()) acceptor.set_option(boost::asio::ip::v6_only(true), error);
  acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(static_cast<int>(kMaxConnections), error);
  error_code ignored;
  if (error) acceptor.close(ignored);
  return error;
}

/// option: the variable that sets the port, for messages. tries: maximum number of free ports to
/// try.
Status listen_on_loopback(std::array<tcp::acceptor, 2>& acceptors, const std::string& option,
                          std::uint16_t& port, int tries = 16) {
  const std::string what = "port " + std::to_string(port) + " of 127.0.0.1";
  const std::string advice = " is in use; set " + option +
                             " to another port, or to 0 for any free port";
  const error_code error = listen_at(acceptors[0], {boost::asio::ip::address_v4::loopback(), port});
  if (error == boost::asio::error::address_in_use) return Status::error(what + advice);
  if (error) return Status::error(what + ": " + error.message());
  // Both addresses are needed, because a browser may resolve `localhost` to either, and another
  // user's server could listen on the other. Without IPv6 the second is not needed.
  const std::uint16_t wanted = std::exchange(port, acceptors[0].local_endpoint().port());
  if (listen_at(acceptors[1], {boost::asio::ip::address_v6::loopback(), port}) !=
      boost::asio::error::address_in_use)
    return Status::ok();
  error_code ignored;
  acceptors[0].close(ignored);
  if (wanted != 0) return Status::error("port " + std::to_string(port) + " of [::1]" + advice);
  port = 0;
  return tries > 1 ? listen_on_loopback(acceptors, option, port, tries - 1)
                   : Status::error("no port is free on both 127.0.0.1 and [::1]");
}

}  // namespace

Loop::Loop(const LiveSettings& settings, std::string token)
    : hub_(settings),
      access_(std::move(token), settings.hosts),
      wake_(context_),
      tick_(context_),
      deadline_(context_),
      acceptors_{Acceptor(context_), Acceptor(context_)},
      compat_acceptors_{Acceptor(context_), Acceptor(context_)} {}

Status Loop::open_wake() {
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0)
    return Status::from_errno("cannot create an eventfd for the live view", errno);
  wake_.assign(descriptor);
  return Status::ok();
}

Status Loop::listen(std::uint16_t& port) {
  Status status = listen_on_loopback(acceptors_, "MEGASCOPE_LIVE", port);
  return status.is_ok() ? open_wake() : status;
}

Status Loop::listen_compat(std::uint16_t& port) {
  Status status = listen_on_loopback(compat_acceptors_, "MEGASCOPE_LIVE_COMPAT", port);
  if (status.is_ok()) accept_turn_.emplace((compat_ = std::make_unique<CompatHub>(hub_))->budget());
  return status;
}

void Loop::run() noexcept {
  for (int failures = 0; failures < kMaxFailures; ++failures) {
    try {
      if (failures == 0) {
        wait_for_wake();
        wait_for_tick();
        for (Acceptor& acceptor : acceptors_) accept(acceptor, false);
        for (Acceptor& acceptor : compat_acceptors_) accept(acceptor, true);
      }
      context_.run();
      for (ClientSession* session : sessions_) session->give_up();  // the loop may be kept for long
      is_over_ = true;
      return;
    } catch (const std::exception&) {
      // An exception of one session, which is closed by it, or lack of memory: the loop continues.
    }
  }
  is_over_ = true;
}

bool Loop::take(LiveKind kind, std::int32_t world_rank, std::span<const std::byte> bytes) noexcept {
  const bool is_taken = inbox_.put(kind, world_rank, bytes);
  wake();
  return is_taken;
}

bool Loop::take_whole(LiveKind kind, std::int32_t world_rank,
                      std::vector<std::byte>&& bytes) noexcept {
  const bool is_taken = inbox_.put_whole(kind, world_rank, std::move(bytes));
  wake();
  return is_taken;
}

bool Loop::changed_capture_requests(std::vector<std::byte>& capture_requests) noexcept {
  return capture_requests_.take(capture_requests);
}

bool Loop::next_request(std::string& request) noexcept { return request_.take(request); }

void Loop::ask_to_end(bool is_aborted, std::uint64_t linger_ms) noexcept {
  is_aborted_ = is_aborted;
  linger_ms_ = linger_ms;
  is_to_end_ = true;
  wake();
}

void Loop::conclude(std::string_view verdict) noexcept {
  if (is_to_close_) return;
  try {
    verdict_.put(std::make_unique<std::string>(
        verdict.substr(0, length_of_start(verdict, kMaxVerdictBytes))));
    ask_to_close();
  } catch (const std::bad_alloc&) {
    // As if there were no verdict.
  }
}

void Loop::ask_to_close() noexcept {
  is_to_close_ = true;
  wake();
}

void Loop::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.native_handle(), &one,
                                                 // If the counter is full, the thread is awake
                                                 // already.
                                                 sizeof one);
}

void Loop::wait_for_wake() {
  wake_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read, [this](const error_code& error) {
        if (error) return;
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = read(wake_.native_handle(), &count, sizeof count);
        wait_for_wake();
        take_in_and_end();
        serve_all();
      });
}

void Loop::wait_for_tick() {
  tick_.expires_after(kTick);
  tick_.async_wait([this](const error_code& error) {
    if (error) return;
    wait_for_tick();
    hub_.tick(clock::realtime_ns());
    if (compat_) compat_->tick(clock::realtime_ns());
    publish();
    take_in_and_end();  // processes what is left if memory ran out before
    serve_all();
  });
}

void Loop::take_in() {
  const std::int64_t now_ns = clock::realtime_ns();
  inbox_.take_all([&](const Inbox::Item& item) {
    if (item.kind == LiveKind::kBlock)
      hub_.take_block(item.bytes);
    else
      hub_.take_rank_update(item.world_rank, item.bytes, now_ns);
  });
  if (const std::uint64_t refused = inbox_.take_refused(); refused != 0)
    hub_.count_drop("data of ranks that arrived faster than the live view could process", refused);
  // Answers may allow the next request, and tensor shapes determine the requests of the
  // compatibility endpoint.
  publish();
}

/// Serves the session that was served longest ago first, so that the remaining budget is shared in
/// turn.
void Loop::serve_all() {
  // A copy, because a failing session removes itself.
  std::vector<ClientSession*> sessions(sessions_.begin(), sessions_.end());
  std::ranges::stable_sort(sessions, {}, &ClientSession::served_at);
  for (ClientSession* session : sessions) {
    if (sessions_.contains(session)) session->serve();
  }
}

/// Publishes capture requests before the client request, so that views for the answer are captured.
void Loop::publish() {
  auto capture_requests = std::make_unique<std::vector<std::byte>>();
  auto request = std::make_unique<std::string>();
  if (hub_.take_changed_capture_requests(*capture_requests))
    capture_requests_.put(std::move(capture_requests));
  if (hub_.request_queue().is_unwanted() && request_.take(*request))
    hub_.request_queue().take_back();
  if (hub_.request_queue().next(*request, clock::realtime_ns())) request_.put(std::move(request));
}

void Loop::accept(Acceptor& acceptor, bool is_compat) {
  if (!acceptor.is_open()) return;
  acceptor.async_accept([this, &acceptor, is_compat](const error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (error)
      return accept_later(acceptor, is_compat);  // out of file descriptors; try again later
    fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    UnauthenticatedCharge charge(is_compat ? compat_->budget() : nullptr);
    accept_on(acceptor, is_compat);  // first, because memory may be available for the next one
    welcome(std::move(socket), is_compat);
  });
}

/// Accepts the next connection; for unauthenticated clients, once their budget allows it.
void Loop::accept_on(Acceptor& acceptor, bool is_compat) {
  if (is_compat && hub_.is_running() && !accept_turn_->has_come(clock::realtime_ns()))
    accept_later(acceptor, is_compat);
  else
    accept(acceptor, is_compat);
}

void Loop::accept_later(Acceptor& acceptor, bool is_compat) {
  auto timer = std::make_shared<boost::asio::steady_timer>(context_, kAcceptLater);
  timer->async_wait([this, &acceptor, is_compat, timer](const error_code& gone) {
    if (!gone) accept_on(acceptor, is_compat);
  });
}

/// If the limit is reached, closes the oldest unauthenticated connection, so that unauthenticated
/// clients cannot block authenticated ones.
bool Loop::has_space(bool is_compat) {
  Connections& there = of(is_compat);
  const int most = static_cast<int>(is_compat ? kMaxCompatConnections : kMaxConnections);
  while (there.connections >= most && !there.unauthenticated.empty()) {
    const std::shared_ptr<HttpSession> oldest = there.unauthenticated.front().lock();
    there.unauthenticated.pop_front();
    if (oldest && oldest->is_unauthenticated()) oldest->give_up();
    // Closed as soon as its operations have ended.
    if (oldest && oldest->is_unauthenticated()) return true;
  }
  return there.connections < most;
}

void Loop::welcome(tcp::socket socket, bool is_compat) {
  if (!has_space(is_compat)) return;
  std::deque<std::weak_ptr<HttpSession>>& unauthenticated = of(is_compat).unauthenticated;
  std::erase_if(unauthenticated,
                [](const std::weak_ptr<HttpSession>& session) { return session.expired(); });
  const auto session = std::make_shared<HttpSession>(*this, std::move(socket), is_compat);
  unauthenticated.push_back(session);
  session->start();
}

void Loop::remove(ClientSession* session) {
  sessions_.erase(session);
  if (is_ending_ && !is_over_ && sessions_.empty()) context_.stop();
}

/// Also processes items that arrive meanwhile, because the request to end was made after them.
void Loop::take_in_and_end() {
  const bool is_to_end = is_to_end_;
  take_in();
  if (is_to_end && !std::exchange(is_ending_, true)) begin_end();
  if (is_ending_ && is_to_close_ && !std::exchange(is_closing_, true)) begin_close();
}

void Loop::begin_end() {
  error_code ignored;
  for (Acceptor& acceptor : acceptors_) acceptor.close(ignored);
  for (Acceptor& acceptor : compat_acceptors_) acceptor.close(ignored);
  hub_.end(is_aborted_, clock::realtime_ns());
  is_closing_ = is_aborted_;
  if (sessions_.empty()) return context_.stop();
  until_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(linger_ms_);
  wait_for_clients();
}

void Loop::wait_for_clients() {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration kLook = std::chrono::milliseconds(10);
  deadline_.expires_after(std::clamp(until_ - Clock::now(), Clock::duration::zero(), kLook));
  deadline_.async_wait([this](const error_code& error) {
    if (error) return;
    if (Clock::now() >= until_) return end_linger();
    wait_for_clients();
    // A copy, because closing removes sessions.
    const std::set<ClientSession*> sessions = sessions_;
    for (ClientSession* session : sessions) {
      if (sessions_.contains(session)) session->give_up_if_stuck();
    }
  });
}

void Loop::end_linger() {
  if (is_closing_) return context_.stop();
  const std::set<ClientSession*> sessions = sessions_;
  for (ClientSession* session : sessions) {
    if (sessions_.contains(session)) session->give_up_if_behind();
  }
}

/// Sets the deadline first, so that the thread ends even if memory runs out.
void Loop::begin_close() {
  constexpr std::chrono::milliseconds kForVerdict{100};
  until_ = std::max(until_, std::chrono::steady_clock::now() + kForVerdict);
  wait_for_clients();
  std::string verdict;
  hub_.close(verdict_.take(verdict) ? std::optional(std::move(verdict)) : std::nullopt);
}

}  // namespace megascope::live
