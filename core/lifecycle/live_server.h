#pragma once

#include "core/base/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace megascope {

/// A rank as the live view's page shows it.
struct LiveRank {
  std::int32_t world_rank = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string coordinates;  ///< grid coordinates: "dp 0, tp 1"; empty: unknown
};

/// Settings of the live view.
struct LiveSettings {
  std::uint16_t port = 0;     ///< 0: any free port
  std::string run_directory;  ///< directory in which the file `live_url` is written; empty: the
                              ///< file is not written
  std::vector<std::string> hosts;  ///< host names accepted in requests in addition to those of the
                                   ///< loopback interface, with or without port
  std::optional<std::uint16_t>
      compat_port;  ///< port of the compatibility endpoint (docs/live_compat.md); 0: any free port;
                    ///< nullopt: no such endpoint
  std::uint64_t unauthenticated_bytes_per_second = std::uint64_t{4}
                                                   << 20;  ///< for all unauthenticated clients of
                                                           ///< the compatibility endpoint together
  double unauthenticated_cpu_percent = 5.0;  ///< CPU time for these clients, in percent of one core
  bool is_control_allowed = false;           ///< clients may send requests to the application
  std::string
      vectors_directory;  ///< directory of the .npy files that clients may name; empty: none
  std::string program;    ///< path of the executable
  std::string command_line;
  std::string run_id;
  std::int64_t start_realtime_ns = 0;
  std::int32_t world_size = 1;
  std::vector<LiveRank> ranks;  ///< ranks that are known; need not be all
};

inline constexpr std::size_t kMaxRequestBytes = 4096;

/// Kind of the bytes passed to LiveServer::take().
enum class LiveKind : std::uint32_t {
  kBlock,       ///< merged block of all ranks at a step boundary (plugin/steps/step_block.h)
  kRankUpdate,  ///< rank update of one rank (plugin/capture/rank_update.h)
};

/// Interface through which the application's thread on rank 0 uses the live view. A loadable module
/// implements it with a server thread, which never calls MPI. No function waits for a client or
/// throws. One application thread at a time.
class LiveServer {
 public:
  virtual ~LiveServer() = default;
  /// Listens and starts the server thread. url: receives the address with the token, for the user.
  /// An error names the port.
  virtual Status open(const LiveSettings& settings, std::string& url) = 0;
  /// Returns sentences for the user about the compatibility endpoint, if requested, and about what
  /// open() could not do. Call after open().
  virtual const std::vector<std::string>& notes() const = 0;
  /// Passes a copy of `bytes` to the server thread. Returns false if its queue is full; the bytes
  /// are then dropped and counted.
  virtual bool take(LiveKind kind, std::int32_t world_rank,
                    std::span<const std::byte> bytes) noexcept = 0;
  /// Passes `bytes` to the server thread without a copy. Returns false if its queue is full; the
  /// message is then counted and `bytes` is unchanged.
  virtual bool take_whole(LiveKind kind, std::int32_t world_rank,
                          std::vector<std::byte>&& bytes) noexcept = 0;
  /// Returns whether the capture requests of the clients (plugin/capture/capture_request.h) changed
  /// since the last call; `capture_requests` then receives all of them.
  virtual bool changed_capture_requests(std::vector<std::byte>& capture_requests) noexcept = 0;
  /// Takes the next request of a client to the application. Returns false if there is none.
  /// request: JSON text of at most kMaxRequestBytes. Each request is returned once, in the order of
  /// arrival; the application answers by rank updates (plugin/capture/rank_update.h, Reply).
  virtual bool next_request(std::string& request) noexcept = 0;
  /// Informs the clients that the run ends, while the application continues to its end. Returns at
  /// once. Bytes that are passed to take() or take_whole() afterwards are ignored. linger_ms: see
  /// close().
  virtual void begin_end(bool is_aborted, std::uint64_t linger_ms) noexcept = 0;
  /// Sends the verdict to the clients that have received the message of the end, and closes their
  /// connections. Call it once between begin_end() and close(), unless the run was aborted. Returns
  /// at once. verdict: truncated to 64 KiB; empty if there is no verdict. Does nothing if memory
  /// runs out.
  virtual void conclude(std::string_view verdict) noexcept = 0;
  /// Calls begin_end() if it was not called, and ends the server thread. Any thread; further calls
  /// do nothing. linger_ms: how long the server keeps sending to clients that have not received
  /// everything. A client that has received the message of the end gets at most 100 ms to receive
  /// the verdict and to close its connection. The server sends a verdict only if conclude() was
  /// called.
  virtual void close(bool is_aborted, std::uint64_t linger_ms) noexcept = 0;
};

}  // namespace megascope
