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

/// A rank as the live view's page names it.
struct LiveRank {
  std::int32_t world_rank = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string place;  ///< in the parallel groups: "dp 0, tp 1"; empty: not told
};

/// What the live view is to serve, and to whom.
struct LiveSettings {
  std::uint16_t port = 0;  ///< 0: any that is free
  std::string run_folder;  ///< gets `live_url`; empty: there is none
  std::vector<std::string>
      hosts;  ///< names by which it may be asked for beside loopback's, with or without port
  std::optional<std::uint16_t>
      compat_port;  ///< of the compatibility endpoint (docs/live_compat.md), as port
  std::uint64_t
      guest_bytes_per_second = std::uint64_t{4}
                               << 20;  ///< for all clients of the compatibility endpoint together
  double guest_cpu_percent = 5.0;      ///< of one core, for the same
  bool is_control_allowed = false;     ///< clients may ask the program to do something
  std::string vectors_folder;          ///< of .npy files that clients may name; empty: none
  std::string program;                 ///< path
  std::string command_line;
  std::string run_id;
  std::int64_t start_realtime_ns = 0;
  std::int32_t world_size = 1;
  std::vector<LiveRank> ranks;  ///< as far as known
};

inline constexpr std::size_t kMostRequestBytes = 4096;

/// What bytes handed to LiveServer::take() are.
enum class LiveKind : std::uint32_t {
  kBlock,   ///< what all ranks said at a step (plugin/tensors/step_block.h)
  kLetter,  ///< what one rank wrote (plugin/tensors/letter.h)
};

/// The live view as the application's thread on rank 0 sees it: a module of its own, with a thread
/// of its own that never calls MPI. Nothing here waits for a client or throws; one thread of the
/// application at a time.
class LiveServer {
 public:
  virtual ~LiveServer() = default;
  /// Listens, and starts the thread. url: what the user opens, with the token. An error names the
  /// port.
  virtual Status open(const LiveSettings& settings, std::string& url) = 0;
  /// After open(): sentences for the user: on the compatibility endpoint, if one was asked for, and
  /// what could not be done.
  virtual const std::vector<std::string>& notes() const = 0;
  /// Hands over a copy. False: the thread is behind by more than it keeps, and the bytes are
  /// dropped and counted.
  virtual bool take(LiveKind kind, std::int32_t world_rank,
                    std::span<const std::byte> bytes) noexcept = 0;
  /// The same without a copy. False: `bytes` are as they were.
  virtual bool take_whole(LiveKind kind, std::int32_t world_rank,
                          std::vector<std::byte>&& bytes) noexcept = 0;
  /// What the clients want (plugin/tensors/wish.h), if it changed since the last time: true, and
  /// `wishes` holds all of it.
  virtual bool changed_wishes(std::vector<std::byte>& wishes) noexcept = 0;
  /// What a client asks the program to do, if one does: true, and `request` is JSON text of at most
  /// kMostRequestBytes. Each is handed over once, in order; the program answers by letters
  /// (plugin/tensors/letter.h, Reply).
  virtual bool next_request(std::string& request) noexcept = 0;
  /// The run is over, and clients are told, while the application's thread does other things before
  /// close(): returns at once. Nothing is taken from then on. linger_ms: as close().
  virtual void begin_end(bool is_aborted, std::uint64_t linger_ms) noexcept = 0;
  /// After begin_end() of a run that was not aborted, before close(), once: sends the verdict to
  /// the clients that have received the end, and ends their connections. Returns at once. verdict:
  /// empty: none was made; of a longer one the first 64 KiB. Without memory nothing happens.
  virtual void conclude(std::string_view verdict) noexcept = 0;
  /// begin_end(), if it was not called, and the thread ends. Any thread; from then on all else here
  /// does nothing. linger_ms: how long clients that are behind may take what is left; 100 ms from
  /// here on for those that have received the end, and no verdict without conclude().
  virtual void close(bool is_aborted, std::uint64_t linger_ms) noexcept = 0;
};

}  // namespace megascope
