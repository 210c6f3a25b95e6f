#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/rate_policy.hpp>
#include <chrono>
#include <cstddef>
#include <limits>

namespace megascope::live {

class UnauthenticatedBudget;

/// Rate policy for Beast's streams. It throttles reading by returning 0 from
/// available_read_bytes(): Beast then reads one byte a second. The policy does the following:
/// - It stores when the peer last accepted bytes, and when bytes were last read.
/// - It throttles reading when the frames of an incomplete message exceed kMaxBytesOfMessage
/// together. The next check for idleness then closes the connection.
/// - It charges bytes read to a budget, and throttles reading while the budget is closed.
class LastTaken {
 public:
  /// Returns when the peer last accepted bytes.
  std::chrono::steady_clock::time_point at() const noexcept { return at_; }
  /// Returns when bytes were last read; the time of construction if none were read.
  std::chrono::steady_clock::time_point reported_at() const noexcept { return reported_at_; }
  /// Returns whether reading is throttled because an incomplete message exceeds kMaxBytesOfMessage.
  bool is_endless() const noexcept { return message_bytes_ >= kMaxBytesOfMessage; }
  /// Call when a complete message was read, or a control frame that counts as a message.
  void note_message() noexcept { message_bytes_ = 0; }
  /// Charges further reads to `budget`. If it is nullptr, reads are not charged.
  void charge(UnauthenticatedBudget* budget) noexcept { budget_ = budget; }

 private:
  // A 64 KiB message in one-byte frames has seven times as many bytes.
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
  std::chrono::steady_clock::time_point reported_at_ = std::chrono::steady_clock::now();
  std::size_t message_bytes_ = 0;  ///< read since the last complete message
  UnauthenticatedBudget* budget_ = nullptr;
};

/// boost::beast::tcp_stream with this policy.
using CountedStream = boost::beast::basic_stream<boost::asio::ip::tcp, boost::asio::any_io_executor,
                                                 LastTaken>;

}  // namespace megascope::live
