#pragma once

#include <chrono>
#include <cstddef>
#include <limits>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/rate_policy.hpp>

namespace megascope::live {

/// A policy of Beast's streams that limits nothing, and remembers when the other side last took something.
class LastTaken {
 public:
  std::chrono::steady_clock::time_point at() const noexcept { return at_; }

 private:
  friend class boost::beast::rate_policy_access;
  static std::size_t available_read_bytes() noexcept { return std::numeric_limits<std::size_t>::max(); }
  static std::size_t available_write_bytes() noexcept { return std::numeric_limits<std::size_t>::max(); }
  static void transfer_read_bytes(std::size_t) noexcept {}
  void transfer_write_bytes(std::size_t bytes) noexcept {
    if (bytes != 0) at_ = std::chrono::steady_clock::now();
  }
  static void on_timer() noexcept {}

  std::chrono::steady_clock::time_point at_;
};

/// As boost::beast::tcp_stream.
using CountedStream = boost::beast::basic_stream<boost::asio::ip::tcp, boost::asio::any_io_executor, LastTaken>;

}  // namespace megascope::live
