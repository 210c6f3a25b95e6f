#pragma once

#include "core/lifecycle/live_server.h"
#include "plugin/capture/capture.h"
#include "plugin/steps/live_tail.h"

#include <cstdint>
#include <string>

namespace megascope::steps {

/// Delivers clients' requests to the application, either on all ranks at the same step boundary or
/// on no rank. This needs a two-phase commit, because some ranks may have left the exchange. One
/// request is in progress at a time. A request is settled when it has been delivered on all ranks
/// or rejected on all ranks. README.md describes the states. Only on the thread that begins steps.
class RequestCommit {
 public:
  /// capture: must outlive this object.
  explicit RequestCommit(capture::Capture& capture) : capture_(capture) {}

  /// On rank 0: takes the server's next request if the previous one is settled.
  void take_next(LiveServer& server);
  /// Returns the request that this rank's blocks carry. On ranks other than 0, and on rank 0 before
  /// the first request, its number is 0 and the blocks carry none.
  const TailRequest& carried() const { return carried_; }
  /// Returns the number of the last request that this rank has received. This rank's blocks carry
  /// it as acknowledgement.
  std::uint64_t received_number() const { return received_number_; }
  /// Whether this rank has received a request that is not settled yet.
  bool has_acknowledged() const { return blocks_until_settled_ != 0; }
  /// Puts a merged block into effect. carried: the block's request. lowest_request: number of the
  /// last request that all ranks had received when they filled the block. Throws std::bad_alloc.
  void apply(const TailRequest& carried, std::uint64_t lowest_request);
  /// Call when this rank leaves the step exchange, that is, when its blocks carry no more data. On
  /// rank 0, reports a request that is not settled as failed. reason: why the rank leaves, for the
  /// user.
  void stop(const char* reason) noexcept;
  /// On rank 0 after stop(): takes one request from the server, if there is one, and reports it as
  /// failed. Before stop() it does nothing.
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
