#pragma once

#include "core/lifecycle/control_port.h"
#include "core/lifecycle/live_server.h"
#include "core/lifecycle/tensor_sink.h"
#include "plugin/tensors/call_report.h"
#include "plugin/tensors/capture.h"
#include "plugin/tensors/counter_names.h"
#include "plugin/tensors/shards.h"
#include "plugin/tensors/step_block.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace megascope::tensors {

/// Totals of the exchanges of a run, on rank 0. Durations are sums over steps of the maximum over
/// ranks.
struct StepExchangeFacts {
  std::uint64_t steps = 0;    ///< steps whose merged block arrived
  std::uint64_t skipped = 0;  ///< of these, steps whose statistics could not be used
  std::uint64_t step_ns = 0;
  std::uint64_t own_ns = 0;
  std::uint64_t wait_ns = 0;  ///< of own_ns, time waiting for other ranks
};

/// The payload of the step exchange (ControlPort): statistics of tensors over all ranks, rank 0's
/// control word, and what the live view needs. One block has the tensors shown since the step
/// began; a tensor shown twice is merged twice.
/// Results are counters "<name>[/layer <l>]/<kind>/global <what>", set by the lowest rank that
/// holds a part, when a later step begins. Rank 0 also sets "all/<kind>/global <what>" over all
/// tensors of a kind that is the same in all replicas (is_of_model), and "step/longest" and
/// "step/shortest" over all ranks.
/// add() and spend_on_tensors(): any thread. Everything else: the thread that begins steps.
class StepExchange final : public ControlPort {
 public:
  /// has_tensors: whether any tensor will be shown; the same on all ranks. capture_count: number of
  /// steps to record after the first step in which some rank shows a NaN or infinite element; 0:
  /// none. capture: items requested by the live view, the same choice (null or not) on all ranks;
  /// nullptr: no live view. `capture` must outlive this object.
  StepExchange(bool has_tensors, std::uint64_t capture_count, Capture* capture)
      : slots_(has_tensors ? kFirstSlots : kMinSlots),
        capture_(capture),
        capture_count_(capture_count) {
    word_.is_announced = 1;
    word_.slots = slots_;
  }

  /// Sets the live view's server. Only on rank 0, before the first block. `server` must outlive
  /// this object.
  void serve(LiveServer* server) noexcept { server_ = server; }

  /// Sets after how many ns without a new step, plus four times the duration of the last steps,
  /// capture for the live view is suspended. The next step resumes it.
  void sleep_after(std::uint64_t ns) noexcept { sleep_after_ns_ = ns; }

  /// Adds this process's part of a tensor. is_counted: whether the result is recorded as counters
  /// of the trace. If memory runs out, the part is ignored and counted as refused (hooks::refuse).
  void add(const TensorView& tensor, const kernels::TensorStatistics& statistics,
           bool is_counted) noexcept;
  /// Adds time spent on tensors inside the application's calls. Any thread.
  void spend_on_tensors(std::uint64_t own_ns) noexcept {
    tensors_ns_.fetch_add(own_ns, std::memory_order_relaxed);
  }

  bool begin(std::int64_t step) noexcept override;
  std::vector<std::size_t> block_sizes(std::int32_t world_size) override;
  std::size_t block_bytes() const noexcept override { return bytes_of_block(slots_, tail_ranks_); }
  void fill(std::span<std::byte> block) noexcept override;
  void fill_absent(std::span<std::byte> block) const noexcept override;
  void merge(const std::byte* theirs, std::byte* mine) const noexcept override {
    merge_blocks(theirs, mine);
  }
  bool has_promised() const noexcept override { return promised_blocks_ != 0; }
  void handle(std::span<const std::byte> merged) noexcept override;
  void apply(std::span<const std::byte> merged) noexcept override;
  void spend(std::uint64_t own_ns, std::uint64_t wait_ns) noexcept override;
  void spend_in_calls(std::uint64_t ns) noexcept override { calls_ns_ += ns; }
  std::uint64_t progress_tick() noexcept override;
  std::vector<std::byte> take_rank_update() noexcept override;
  void receive(std::int32_t world_rank, std::span<const std::byte> rank_update) noexcept override;
  void receive_whole(std::int32_t world_rank,
                     std::vector<std::byte>&& rank_update) noexcept override;
  void stop(const char* reason) noexcept override;

  /// Totals; only after the last block.
  StepExchangeFacts facts() const { return facts_; }
  /// Sentences for the user: which statistics were not available, and why.
  std::vector<std::string> notes() const;

 private:
  struct Tensor {
    std::string name;
    std::int32_t layer;
    TensorKind kind;
    bool is_split;
    std::string split_group;
    std::uint32_t places_version;  ///< layout version of `shard`; 0: none
    Shard shard;
    std::uint32_t counters_version;  ///< layout version of `counters`; 0: none
    Counters counters;
    bool is_shown;
    bool is_counted;
    std::uint32_t named_version;           ///< layout version of the name that rank 0 has; 0: none
    TensorShape shape;                     ///< of the latest call that showed it
    kernels::TensorStatistics statistics;  ///< since the step began
  };
  using Identity = std::tuple<TensorId, std::int32_t, TensorKind, bool, std::string_view>;

  /// A reason why the statistics of some steps could not be used: how often, and an example.
  struct Complaint {
    std::uint64_t count = 0;
    std::string example;
  };
  enum Problem {
    kStepsDiffer,
    kBackwards,
    kWrongSize,
    kGroupsDiffer,
    kRanksAbsent,
    kPartsMissing,
    kNoSpace,
    kNoGroup,
    kSplitTwice,
    kStopped,
    kProblemCount
  };

  void learn_layout();
  void place(std::size_t index);
  void collect(std::vector<TensorSlot>& slots);
  void leave_out_doubles(std::vector<TensorSlot>& slots);
  StepHeader own_header();
  ControlWord own_word();
  std::optional<Problem> problem_of(const StepHeader& header);
  /// Counts a problem. Call with mutex_ held.
  void note(Problem problem, const std::string& example);
  void name(Tensor& tensor);
  void report_interval() noexcept;
  void put_tail(std::span<std::byte> block);
  void apply_capture_requests(std::span<const std::byte> merged);
  void apply_request(std::span<const std::byte> merged);
  void put_request(std::span<std::byte> tail);
  void report_again(const ControlWord& word);
  void wake(std::uint64_t now_ns) noexcept;
  void fall_asleep() noexcept;
  void lose_rank_update(std::uint32_t world_rank, RankUpdateContents lost) noexcept;
  void bid_report_again() noexcept;
  void fail_request(const std::string& why);
  void refuse_requests() noexcept;
  void report_tensors(std::span<const std::byte> merged, const StepHeader& header);
  void report_tensor(const TensorSlot& slot);
  void report_models(std::span<const std::byte> merged, const StepHeader& header);
  void report_times(const StepHeader& header);
  void decide(const StepHeader& header, bool has_bad_element);
  bool is_rank_0() const { return layout_.world_rank == 0; }

  /// Guards tensors_, by_identity_, by_key_ and complaints_; never held while waiting for other
  /// ranks.
  mutable std::mutex mutex_;
  std::deque<Tensor> tensors_;
  std::map<Identity, std::size_t> by_identity_;
  std::unordered_map<std::uint64_t, std::size_t> by_key_;
  std::atomic<std::uint64_t> tensors_ns_{0};
  std::array<Complaint, kProblemCount> complaints_;

  // Everything below is used only by the thread that begins steps.
  Layout layout_;
  std::uint32_t layout_version_ = 0;  ///< places_version() + 1 of layout_; 0: none
  std::uint64_t place_total_ = 0;
  std::uint32_t slots_;
  std::int64_t step_ = -1;           ///< the step that has begun
  std::int64_t reported_step_ = -1;  ///< the step that the next block describes
  std::int64_t next_step_ = kNoStep;
  bool is_spoiled_ = false;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t step_ns_ = 0;
  std::uint64_t own_ns_ = 0;
  std::uint64_t wait_ns_ = 0;
  std::uint64_t calls_ns_ = 0;          ///< in MPI calls, since the last block
  std::int64_t begin_realtime_ns_ = 0;  ///< wall-clock time of begin_ns_
  /// wall-clock begin of the step that the next block describes.
  std::int64_t reported_realtime_ns_ = 0;
  std::uint64_t progress_tick_ns_ = 0;  ///< end of the last interval
  CallReport call_report_;              ///< used where no step begins
  Capture* capture_;                    ///< nullptr: no live view
  std::uint32_t tail_ranks_ = 0;
  std::vector<std::byte> capture_requests_;  ///< capture requests in effect
  std::uint64_t seen_request_ = 0;  ///< number of the last client request received from rank 0
  std::string request_;             ///< text of that request
  /// Number of the last request handed to the application, or rejected on all ranks.
  std::uint64_t settled_request_ = 0;
  /// Blocks remaining until the request acknowledgement takes effect.
  unsigned promised_blocks_ = 0;
  std::uint64_t lost_number_ = 0;  ///< last ControlWord::lost_number applied
  bool has_stopped_ = false;
  std::uint64_t sleep_after_ns_ = 10'000'000'000;
  std::uint64_t awake_until_ns_ = ~std::uint64_t{0};
  std::uint64_t former_step_ns_ = 0;  ///< duration of the previous step
  bool is_asleep_ = false;            ///< capture is suspended
  std::uint64_t captured_ = 0;        ///< last ControlWord::capture_number applied
  std::map<TensorKind, Counters> model_counters_;
  std::array<CounterId, 2> time_counters_{};
  bool has_time_counters_ = false;

  // Used only on rank 0.
  LiveServer* server_ = nullptr;
  std::vector<std::byte> own_capture_requests_;  ///< capture requests of the server's clients
  TailRequest own_request_;                      ///< the latest request of a client
  std::uint64_t capture_count_;
  ControlWord word_;
  std::uint64_t failed_request_ = 0;  ///< number of the last request that was reported as failed
  /// World ranks whose rank updates were dropped and contained items to resend: none …
  std::uint32_t first_lost_ = ~std::uint32_t{0};
  std::uint32_t last_lost_ = 0;  ///< … if this is lower than first_lost_
  bool has_lost_names_ = false;  ///< as ControlWord::has_lost_names
  std::int64_t lost_counters_from_ = kNoStep;
  std::uint64_t reported_again_ns_ = 0;  ///< when ranks were last asked to resend
  std::uint32_t max_used_ = 0;
  StepExchangeFacts facts_;
};

}  // namespace megascope::tensors
