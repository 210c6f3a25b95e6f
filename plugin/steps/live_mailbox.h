#pragma once

#include "core/lifecycle/live_server.h"
#include "core/lifecycle/rank_mailbox.h"
#include "plugin/capture/call_report.h"
#include "plugin/capture/capture.h"
#include "plugin/steps/capture_suspension.h"
#include "plugin/steps/lost_rank_updates.h"
#include "plugin/steps/request_commit.h"
#include "plugin/steps/step_times.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope::steps {

/// The live view's mailbox. It makes rank updates of the items captured on this rank. On rank 0 it
/// also passes the rank updates of all ranks to the server. Threads: as for RankMailbox.
class LiveMailbox final : public RankMailbox {
 public:
  /// All must outlive this object.
  LiveMailbox(capture::Capture& capture, StepTimes& times, RequestCommit& requests,
              CaptureSuspension& suspension)
      : capture_(capture), times_(times), requests_(requests), suspension_(suspension) {}

  /// As StepExchange::serve().
  void serve(LiveServer* server) noexcept { server_ = server; }
  /// As LostRankUpdates::ask_again().
  void ask_again(ControlWord& word) noexcept { lost_.ask_again(word); }

  /// If no step has begun, reports intervals; otherwise step blocks have the same data. Suspends
  /// capture when it is due. Requests ticks at a shorter interval while a client's request is
  /// processed, so that replies are sent soon.
  std::uint64_t progress_tick() noexcept override;
  std::vector<std::byte> take_rank_update() noexcept override;
  void receive(std::int32_t world_rank, std::span<const std::byte> rank_update) noexcept override;
  void receive_whole(std::int32_t world_rank,
                     std::vector<std::byte>&& rank_update) noexcept override;

 private:
  void report_interval() noexcept;
  void report_suspension() noexcept;
  void lose(std::int32_t world_rank, const capture::RankUpdateContents& lost) noexcept;

  capture::Capture& capture_;
  StepTimes& times_;
  RequestCommit& requests_;
  CaptureSuspension& suspension_;
  std::uint64_t interval_begin_ns_ = 0;  ///< CLOCK_MONOTONIC; 0: no interval has begun
  capture::CallReport call_report_;
  LiveServer* server_ = nullptr;  ///< only on rank 0
  LostRankUpdates lost_;          ///< only on rank 0
};

}  // namespace megascope::steps
