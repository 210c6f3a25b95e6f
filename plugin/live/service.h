#pragma once

#include <memory>
#include <string>

#include <pthread.h>
#include <sys/types.h>

#include "core/lifecycle/live_server.h"

namespace megascope::live {

class Loop;

/// The loop and its thread.
class Service final : public LiveServer {
 public:
  Service() = default;
  ~Service() override;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Status open(const LiveSettings& settings, std::string& url) override;
  bool take(LiveKind kind, std::int32_t world_rank, std::span<const std::byte> bytes) noexcept override;
  bool changed_wishes(std::vector<std::byte>& wishes) noexcept override;
  bool next_request(std::string&) noexcept override { return false; }
  void begin_end(bool is_aborted, std::uint64_t linger_ms) noexcept override;
  void close(bool is_aborted, std::uint64_t linger_ms) noexcept override;

 private:
  Status start(const LiveSettings& settings, std::string& url);
  /// False in a forked child, which has no such thread.
  bool is_at_home() const noexcept;

  std::shared_ptr<Loop> loop_;  ///< null: not open
  std::string run_folder_;
  pthread_t thread_{};
  pid_t process_ = 0;
  bool is_ending_ = false;
};

}  // namespace megascope::live
