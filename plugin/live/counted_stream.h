#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/rate_policy.hpp>
#include <chrono>
#include <cstddef>
#include <limits>

namespace megascope::live {

class GuestBudget;

/// A policy of Beast's streams: remembers when the other side last took something; stops reading
/// where more bytes come without a whole message than any that is allowed takes, however they are
/// cut into frames (such a connection is ended within its idle time); charges all that is read to a
/// budget, and does not read while that is closed: then Beast reads one byte a second.
class LastTaken {
 public:
  std::chrono::steady_clock::time_point at() const noexcept { return at_; }
  /// When the other side's bytes were last read; at first: now.
  std::chrono::steady_clock::time_point said_at() const noexcept { return said_at_; }
  /// More bytes came without a whole message than any that is allowed takes: nothing is read any
  /// more.
  bool is_endless() const noexcept { return message_bytes_ >= kMaxBytesOfMessage; }
  /// A whole message has been read, or a control frame that is to count as one.
  void note_message() noexcept { message_bytes_ = 0; }
  /// What is read is charged to `budget` from now on. nullptr: to none.
  void charge(GuestBudget* budget) noexcept { budget_ = budget; }

 private:
  // 64 KiB in frames of one byte have seven times as many.
  static constexpr std::size_t kMaxBytesOfMessage = std::size_t{1} << 20;

  friend class boost::beast::rate_policy_access;
  std::size_t available_read_bytes() const noexcept;
  static std::size_t available_write_bytes() noexcept {
    return std::numeric_limits<std::size_t>::max();
  }
  void transfer_read_bytes(std::size_t bytes) noexcept;
  void transfer_write_bytes(std::size_t bytes) noexcept {
    if (bytes != 0) at_ = std::chrono::steady_clock::now();
  }
  static void on_timer() noexcept {}

  std::chrono::steady_clock::time_point at_;
  std::chrono::steady_clock::time_point said_at_ = std::chrono::steady_clock::now();
  std::size_t message_bytes_ = 0;  ///< read since the last whole message
  GuestBudget* budget_ = nullptr;
};

/// As boost::beast::tcp_stream.
using CountedStream = boost::beast::basic_stream<boost::asio::ip::tcp, boost::asio::any_io_executor,
                                                 LastTaken>;

}  // namespace megascope::live
