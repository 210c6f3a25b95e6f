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

/// Rate policy for Beast's streams.
/// - Remembers when the peer last accepted bytes.
/// - Throttles reading when an incomplete message exceeds kMaxBytesOfMessage, however it is split
///   into frames. The next check for idleness then closes the connection.
/// - Charges bytes read to a budget, and throttles reading while the budget is closed.
/// Throttled: available_read_bytes() is 0, and Beast reads one byte a second.
class LastTaken {
 public:
  std::chrono::steady_clock::time_point at() const noexcept { return at_; }
  /// When bytes were last read; initially the time of construction.
  std::chrono::steady_clock::time_point reported_at() const noexcept { return reported_at_; }
  /// An incomplete message exceeded kMaxBytesOfMessage: reading is throttled.
  bool is_endless() const noexcept { return message_bytes_ >= kMaxBytesOfMessage; }
  /// A complete message was read, or a control frame that counts as one.
  void note_message() noexcept { message_bytes_ = 0; }
  /// Charges further reads to `budget`; nullptr: to none.
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
