#pragma once

#include <chrono>
#include <cstddef>
#include <limits>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/rate_policy.hpp>

namespace megascope::live {

/// A policy of Beast's streams: remembers when the other side last took something, and stops reading where one message takes more bytes
/// than any that is allowed, however they are cut into frames. Such a connection ends by its idle timeout.
class LastTaken {
 public:
  std::chrono::steady_clock::time_point at() const noexcept { return at_; }
  /// A whole message, or a control frame, has been read and counted.
  void note_message() noexcept { message_bytes_ = 0; }

 private:
  // 64 KiB in frames of one byte have seven times as many.
  static constexpr std::size_t kMaxBytesOfMessage = std::size_t{1} << 20;

  friend class boost::beast::rate_policy_access;
  std::size_t available_read_bytes() const noexcept {
    return message_bytes_ < kMaxBytesOfMessage ? std::numeric_limits<std::size_t>::max() : 0;
  }
  static std::size_t available_write_bytes() noexcept { return std::numeric_limits<std::size_t>::max(); }
  void transfer_read_bytes(std::size_t bytes) noexcept { message_bytes_ += bytes; }
  void transfer_write_bytes(std::size_t bytes) noexcept {
    if (bytes != 0) at_ = std::chrono::steady_clock::now();
  }
  static void on_timer() noexcept {}

  std::chrono::steady_clock::time_point at_;
  std::size_t message_bytes_ = 0;  ///< read since the last whole message
};

/// As boost::beast::tcp_stream.
using CountedStream = boost::beast::basic_stream<boost::asio::ip::tcp, boost::asio::any_io_executor, LastTaken>;

}  // namespace megascope::live
