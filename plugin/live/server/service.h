#pragma once

#include "core/lifecycle/live_server.h"

#include <atomic>
#include <memory>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace megascope::live {

class Loop;

/// Implements LiveServer (core/lifecycle/live_server.h). Starts the thread that runs the event loop
/// of the live view's server (Loop), and joins this thread when the server is closed.
class Service final : public LiveServer {
 public:
  Service() = default;
  ~Service() override;  // only when no other thread uses the object
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Status open(const LiveSettings& settings, std::string& url) override;
  const std::vector<std::string>& notes() const override { return notes_; }
  bool take(LiveKind kind, std::int32_t world_rank,
            std::span<const std::byte> bytes) noexcept override;
  bool take_whole(LiveKind kind, std::int32_t world_rank,
                  std::vector<std::byte>&& bytes) noexcept override;
  bool changed_capture_requests(std::vector<std::byte>& capture_requests) noexcept override;
  bool next_request(std::string& request) noexcept override;
  void begin_end(bool is_aborted, std::uint64_t linger_ms) noexcept override;
  void conclude(std::string_view verdict) noexcept override;
  void close(bool is_aborted, std::uint64_t linger_ms) noexcept override;

 private:
  Status start(const LiveSettings& settings, std::string& url);
  void open_compat(Loop& loop, const LiveSettings& settings);
  void wait_shortly() const noexcept;
  /// Returns false in a forked child, where the loop's thread does not exist.
  bool is_at_home() const noexcept;
  /// Returns false after close() and in a forked child. The loop exists even after close(), because
  /// another thread of the application may be inside take().
  bool is_open() const noexcept {
    return is_at_home() && !is_closed_.load(std::memory_order_relaxed);
  }

  std::shared_ptr<Loop> loop_;  ///< null: open() has not succeeded
  std::atomic<bool> is_ending_{false}, is_closed_{false};
  std::vector<std::string> notes_;
  std::string run_directory_;
  pthread_t thread_{};
  pid_t process_ = 0;
};

}  // namespace megascope::live
