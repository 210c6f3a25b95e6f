#pragma once

#include "core/lifecycle/live_server.h"
#include "core/lifecycle/rank_mailbox.h"
#include "core/lifecycle/step_reduction.h"
#include "plugin/capture/capture.h"
#include "plugin/steps/decisions.h"
#include "plugin/steps/live_payload.h"
#include "plugin/steps/step_block.h"
#include "plugin/steps/step_results.h"
#include "plugin/steps/step_times.h"
#include "plugin/tensors/missing_statistics.h"
#include "plugin/tensors/own_layout.h"
#include "plugin/tensors/shown_tensors.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace megascope::steps {

/// The payload of the exchange at step boundaries: statistics of tensors over all ranks, rank 0's
/// control word, and data for the live view (LivePayload). A block has the statistics of the
/// tensors shown in the step that ends. If a tensor was shown twice in the step, both statistics
/// are merged. The results are counters "<name>[/layer <l>]/<kind>/global <what>". The lowest rank
/// that holds a part of the tensor sets them when a later step begins. Rank 0 also sets the
/// counters of StepResults. Only on the thread that begins steps, except shown_tensors() and
/// notes().
class StepExchange final : public StepReduction {
 public:
  /// has_tensors: whether tensors may be shown; the same on all ranks. capture_count: number of
  /// steps to record after the first step in which some rank shows a NaN or infinite element; 0:
  /// none. capture: captures items for the live view; nullptr: there is no live view. It is null on
  /// all ranks or on none, and must outlive this object.
  StepExchange(bool has_tensors, std::uint64_t capture_count, capture::Capture* capture);

  /// Sets the live view's server. Only on rank 0 and with a live view, before the first block.
  /// server: must outlive this object; nullptr: there is no server.
  void serve(LiveServer* server) noexcept;
  /// Sets the time without a new step after which capture for the live view is suspended, as
  /// CaptureSuspension::suspend_after(). The next step resumes capture.
  void suspend_after(std::uint64_t ns) noexcept;
  /// Returns the mailbox that handles the messages to rank 0; nullptr if there is no live view.
  RankMailbox* mailbox() noexcept { return live_ ? &live_->mailbox() : nullptr; }
  /// Returns the object that receives this process's parts of tensors. Any thread may add tensors
  /// to it.
  tensors::ShownTensors& shown_tensors() noexcept { return shown_; }

  bool begin(std::int64_t step) noexcept override;
  std::vector<std::size_t> block_sizes(std::int32_t world_size) override;
  std::size_t block_bytes() const noexcept override { return bytes_of_block(slots_, tail_ranks()); }
  void fill(std::span<std::byte> block) noexcept override;
  void fill_absent(std::span<std::byte> block) const noexcept override;
  void merge(const std::byte* theirs, std::byte* mine) const noexcept override {
    merge_blocks(theirs, mine);
  }
  void handle(std::span<const std::byte> merged) noexcept override;
  void apply(std::span<const std::byte> merged) noexcept override;
  bool has_acknowledged() const noexcept override { return live_ && live_->has_acknowledged(); }
  void add_overhead(std::uint64_t own_ns, std::uint64_t wait_ns) noexcept override;
  void add_call_time(std::uint64_t ns) noexcept override { times_.calls_ns += ns; }
  void stop(const char* reason) noexcept override;

  /// Totals; only after the last block.
  StepExchangeFacts facts() const { return results_.facts(); }
  /// Sentences for the user: which statistics were not available, and why. Any thread.
  std::vector<std::string> notes() const { return missing_.sentences(layout_.layout().world_rank); }

 private:
  using Missing = tensors::MissingStatistics;

  std::uint32_t tail_ranks() const noexcept { return live_ ? live_->tail_ranks() : 0; }
  std::vector<TensorSlot> collect();
  void leave_out_doubles(std::vector<TensorSlot>& slots);
  StepHeader own_header();
  std::optional<Missing::Reason> problem_of(const StepHeader& header) const;
  void note_unusable_step(Missing::Reason reason, const StepHeader& header);
  void record_tensors(std::span<const std::byte> merged, const StepHeader& header);

  tensors::MissingStatistics missing_;
  tensors::ShownTensors shown_{missing_};
  tensors::OwnLayout layout_;
  StepTimes times_;
  std::optional<LivePayload> live_;  ///< nullopt: no live view
  std::uint32_t slots_;              ///< tensor slots of the next block
  std::uint64_t captured_ = 0;       ///< last ControlWord::capture_number applied
  bool has_stopped_ = false;
  Decisions decisions_;  ///< used on rank 0
  StepResults results_;  ///< used on rank 0
};

}  // namespace megascope::steps
