#pragma once

#include "core/lifecycle/live_server.h"
#include "core/lifecycle/rank_mailbox.h"
#include "plugin/capture/capture.h"
#include "plugin/steps/capture_suspension.h"
#include "plugin/steps/live_mailbox.h"
#include "plugin/steps/request_commit.h"
#include "plugin/steps/step_block.h"
#include "plugin/steps/step_times.h"
#include "plugin/tensors/own_layout.h"
#include "plugin/tensors/shown_tensors.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megascope::steps {

/// The live view's part of the step exchange. It fills the tail of this rank's blocks (live_tail.h)
/// and applies the tail of merged blocks. mailbox() handles the messages that are independent of
/// steps. Only on the thread that begins steps.
class LivePayload {
 public:
  /// All must outlive this object.
  LivePayload(capture::Capture& capture, tensors::ShownTensors& shown, StepTimes& times)
      : capture_(capture),
        shown_(shown),
        times_(times),
        requests_(capture),
        suspension_(capture),
        mailbox_(capture, times, requests_, suspension_) {}

  /// As StepExchange::serve().
  void serve(LiveServer* server) noexcept;
  /// As CaptureSuspension::suspend_after().
  void suspend_after(std::uint64_t ns) noexcept { suspension_.suspend_after(ns); }
  RankMailbox& mailbox() noexcept { return mailbox_; }
  /// Starts recording counter values, and sets the number of rows of the tail. Throws
  /// std::bad_alloc.
  void open(std::int32_t world_size);
  std::uint32_t tail_ranks() const noexcept { return tail_ranks_; }

  /// Reads the counters' values of the step that ends. Call at the beginning of a step, before
  /// StepTimes is set for the new step.
  void read_counters() noexcept { capture_.read_counters(); }
  /// Resumes capture. Call at the beginning of a step, after StepTimes is set for it.
  void resume() noexcept { suspension_.resume(times_.begin_ns, times_.step_ns); }
  /// Call after the parallel groups have changed. Throws std::bad_alloc.
  void set_layout(const tensors::OwnLayout& layout);
  /// Queues the tensor's name, with its Shard::key, for rank 0, which knows the tensor's statistics
  /// only by this key. Does nothing if rank 0 has the name. Throws std::bad_alloc.
  void name(tensors::ShownTensors::Tensor& tensor, const tensors::OwnLayout& layout);
  /// As RequestCommit::received_number() and RequestCommit::has_acknowledged().
  std::uint64_t received_request() const noexcept { return requests_.received_number(); }
  bool has_acknowledged() const noexcept { return requests_.has_acknowledged(); }
  /// Fills the tail of this rank's block. On rank 0, also updates `word`, the control word of the
  /// next block. Throws std::bad_alloc.
  void put_tail(std::span<std::byte> block, std::uint32_t world_rank, ControlWord& word);
  /// Fills the tail of a block that StepReduction::fill_absent() writes. It has no times; on rank 0
  /// it repeats the capture requests and the client request.
  void put_absent_tail(std::span<std::byte> block) const noexcept;
  /// On rank 0: passes a merged block to the server.
  void deliver(std::span<const std::byte> merged) noexcept;
  /// Puts a merged block into effect. word: the block's control word. Throws std::bad_alloc.
  void apply(std::span<const std::byte> merged, const ControlWord& word, std::uint32_t world_rank);
  /// Call when this rank leaves the exchange. Throws std::bad_alloc. reason: for the user.
  void stop(const char* reason, std::uint32_t world_rank);

 private:
  void report_again(const ControlWord& word);

  capture::Capture& capture_;
  tensors::ShownTensors& shown_;
  StepTimes& times_;
  RequestCommit requests_;
  CaptureSuspension suspension_;
  LiveMailbox mailbox_;
  std::uint32_t tail_ranks_ = 0;
  std::uint64_t lost_number_ = 0;            ///< last ControlWord::lost_number applied
  LiveServer* server_ = nullptr;             ///< only on rank 0
  std::vector<std::byte> capture_requests_;  ///< on rank 0: the requests of the server's clients
};

}  // namespace megascope::steps
