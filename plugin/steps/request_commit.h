#pragma once

#include "core/lifecycle/live_server.h"
#include "plugin/capture/capture.h"
#include "plugin/steps/live_tail.h"

#include <cstdint>
#include <string>

namespace megascope::steps {

/// Delivers clients' requests to the application: on all ranks at the same step boundary, or on
/// none. A two-phase commit, because some ranks may have left the exchange. README.md has the
/// states. One request at a time. Only on the thread that begins steps.
class RequestCommit {
 public:
  /// capture: must outlive this object.
  explicit RequestCommit(capture::Capture& capture) : capture_(capture) {}

  /// Rank 0: takes the server's next request once the previous one is settled.
  void take_next(LiveServer& server);
  /// The request that rank 0's blocks carry. number 0: none, as on all other ranks.
  const TailRequest& carried() const { return carried_; }
  /// Number of the last request that this rank has received: its acknowledgement.
  std::uint64_t received_number() const { return received_number_; }
  /// Whether this rank has received a request that is not settled yet.
  bool has_acknowledged() const { return blocks_until_settled_ != 0; }
  /// A block takes effect. carried: the block's request. lowest_request: the last number that all
  /// ranks had received when they filled the block. Throws std::bad_alloc.
  void apply(const TailRequest& carried, std::uint64_t lowest_request);
  /// This rank leaves the exchange. On rank 0, a request that is not settled fails. reason: for the
  /// user.
  void stop(const char* reason) noexcept;
  /// Rank 0, after stop(): rejects one request of the server, if there is one.
  void reject_next(LiveServer& server) noexcept;

 private:
  void settle(bool is_on_all_ranks);
  void fail(const std::string& why);

  capture::Capture& capture_;
  std::uint64_t received_number_ = 0;
  std::string received_;  ///< text of the request received_number_
  /// Number of the last request handed to the application, or rejected on all ranks.
  std::uint64_t settled_number_ = 0;
  unsigned blocks_until_settled_ = 0;
  bool has_stopped_ = false;
  TailRequest carried_;
  std::uint64_t failed_number_ = 0;  ///< of the last request that was reported as failed
};

}  // namespace megascope::steps
