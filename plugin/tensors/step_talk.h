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

/// What a run's talk at steps came to, on the rank that speaks for all. Times are sums over steps,
/// of each step the greatest of all ranks.
struct StepTalkFacts {
  std::uint64_t steps = 0;    ///< of which all ranks heard
  std::uint64_t skipped = 0;  ///< of these, with statistics that could not be used
  std::uint64_t step_ns = 0;
  std::uint64_t own_ns = 0;
  std::uint64_t wait_ns = 0;  ///< of own_ns
};

/// Statistics of tensors over all ranks, and the control word, as blocks that ranks tell each other
/// at steps (ControlPort). What was shown since a step began is one block; shown twice, it counts
/// twice. Results are counters "<name>[/layer <l>]/<kind>/global <what>" of the lowest rank that
/// holds a part, set where a later step begins; rank 0 sets "all/<kind>/global …" over all tensors
/// of a kind that is of the model, and "step/longest", "step/shortest" over all ranks. add(): any
/// thread.
class StepTalk final : public ControlPort {
 public:
  /// has_tensors: will any be shown? The same on all ranks. capture_count: steps that are recorded
  /// after the first that has a NaN or infinite element somewhere; 0: none. capture: what the live
  /// view wants, on all ranks; nullptr: there is none. It outlives the object.
  StepTalk(bool has_tensors, std::uint64_t capture_count, Capture* capture)
      : slots_(has_tensors ? kFirstSlots : kLeastSlots),
        capture_(capture),
        capture_count_(capture_count) {
    word_.is_said = 1;
    word_.slots = slots_;
  }

  /// On rank 0, before the first block: who is told, with the live view. Outlives the object.
  void serve(LiveServer* server) noexcept { server_ = server; }

  /// Where no step begins for that long, and four times as long as the last ones took, what clients
  /// want is not shown until one does.
  void sleep_after(std::uint64_t ns) noexcept { sleep_after_ns_ = ns; }

  /// This process's part of a tensor. is_counted: the result is to be counters of the trace.
  void add(const TensorView& tensor, const kernels::TensorStatistics& statistics,
           bool is_counted) noexcept;
  /// Time that tensors took inside of the program's calls. Any thread.
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
  void hear(std::span<const std::byte> merged) noexcept override;
  void obey(std::span<const std::byte> merged) noexcept override;
  void spend(std::uint64_t own_ns, std::uint64_t wait_ns) noexcept override;
  void spend_in_calls(std::uint64_t ns) noexcept override { calls_ns_ += ns; }
  std::uint64_t pulse() noexcept override;
  std::vector<std::byte> take_letter() noexcept override;
  void receive(std::int32_t world_rank, std::span<const std::byte> letter) noexcept override;
  void receive_whole(std::int32_t world_rank, std::vector<std::byte>&& letter) noexcept override;
  void stop(const char* reason) noexcept override;

  /// After the last block.
  StepTalkFacts facts() const { return facts_; }
  /// Sentences for the user: what could not be told, and why.
  std::vector<std::string> notes() const;

 private:
  struct Tensor {
    std::string name;
    std::int32_t layer;
    TensorKind kind;
    bool is_split;
    std::string split_group;
    std::uint32_t places_version;  ///< that `shard` is of; 0: none
    Shard shard;
    std::uint32_t counters_version;  ///< as places_version, of `counters`
    Counters counters;
    bool is_shown;
    bool is_counted;
    std::uint32_t named_version;  ///< as places_version, of what rank 0 was told of its name
    TensorShape shape;            ///< as it was shown last
    kernels::TensorStatistics statistics;  ///< since the step began
  };
  using Identity = std::tuple<TensorId, std::int32_t, TensorKind, bool, std::string_view>;

  /// Why the statistics of a step were of no use, each with how often and an example.
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
    kNoRoom,
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
  /// Under mutex_.
  void note(Problem problem, const std::string& example);
  void name(Tensor& tensor);
  void tell_interval() noexcept;
  void put_tail(std::span<std::byte> block);
  void obey_wishes(std::span<const std::byte> merged);
  void obey_request(std::span<const std::byte> merged);
  void put_request(std::span<std::byte> tail);
  void tell_again(const ControlWord& word);
  void wake(std::uint64_t now_ns) noexcept;
  void fall_asleep() noexcept;
  void lose_letter(std::uint32_t world_rank, LetterContents lost) noexcept;
  void bid_tell_again() noexcept;
  void fail_request(const std::string& why);
  void refuse_requests() noexcept;
  void tell_tensors(std::span<const std::byte> merged, const StepHeader& header);
  void tell_tensor(const TensorSlot& slot);
  void tell_models(std::span<const std::byte> merged, const StepHeader& header);
  void tell_times(const StepHeader& header);
  void decide(const StepHeader& header, bool has_bad_element);
  bool is_speaker() const { return layout_.world_rank == 0; }

  mutable std::mutex
      mutex_;  ///< tensors_ and what belongs to them; never held while others are waited for
  std::deque<Tensor> tensors_;
  std::map<Identity, std::size_t> by_identity_;
  std::unordered_map<std::uint64_t, std::size_t> by_key_;
  std::atomic<std::uint64_t> tensors_ns_{0};
  std::array<Complaint, kProblemCount> complaints_;

  // The rest is of the thread that begins steps.
  Layout layout_;
  std::uint32_t layout_version_ = 0;  ///< places_version() + 1 that layout_ is of; 0: none
  std::uint64_t place_total_ = 0;
  std::uint32_t slots_;
  std::int64_t step_ = -1;       ///< that has begun
  std::int64_t told_step_ = -1;  ///< that the next block is of
  std::int64_t next_step_ = kNoStep;
  bool is_spoiled_ = false;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t step_ns_ = 0;
  std::uint64_t own_ns_ = 0;
  std::uint64_t wait_ns_ = 0;
  std::uint64_t calls_ns_ = 0;          ///< in calls of MPI, since the last block
  std::int64_t begin_realtime_ns_ = 0;  ///< as begin_ns_
  std::int64_t told_realtime_ns_ = 0;   ///< of the step that the next block is of
  std::uint64_t pulse_ns_ = 0;          ///< end of the last interval
  CallReport call_report_;              ///< where no step begins
  Capture* capture_;                    ///< nullptr: there is no live view
  std::uint32_t tail_ranks_ = 0;
  std::vector<std::byte> wishes_;      ///< that are obeyed
  std::uint64_t seen_request_ = 0;     ///< number of the last one that rank 0 told
  std::string request_;                ///< and what it is
  std::uint64_t settled_request_ = 0;  ///< of the last one that the program was given, or of which
                                       ///< it will not be
  unsigned promised_blocks_ = 0;   ///< after so many, that of this rank's word that it has seen it
                                   ///< is obeyed
  std::uint64_t lost_number_ = 0;  ///< ControlWord::lost_number that was obeyed
  bool has_stopped_ = false;
  std::uint64_t sleep_after_ns_ = 10'000'000'000;
  std::uint64_t awake_until_ns_ = ~std::uint64_t{0};
  std::uint64_t former_step_ns_ = 0;  ///< of the step before
  bool is_asleep_ = false;            ///< wishes_ are not obeyed
  std::uint64_t captured_ = 0;        ///< ControlWord::capture_number that was obeyed
  std::map<TensorKind, Counters> model_counters_;
  std::array<CounterId, 2> time_counters_{};
  bool has_time_counters_ = false;

  // Of rank 0.
  LiveServer* server_ = nullptr;
  std::vector<std::byte> own_wishes_;  ///< of the server's clients
  TailRequest own_request_;            ///< the last one of its clients
  std::uint64_t capture_count_;
  ControlWord word_;
  std::uint64_t failed_request_ = 0;  ///< number of the last one that will not be answered
  std::uint32_t first_lost_ = ~std::uint32_t{
      0};  ///< ranks of whose letters some were lost with what is to be told again: none …
  std::uint32_t last_lost_ = 0;  ///< … if this is lower
  bool has_lost_names_ = false;  ///< as ControlWord::has_lost_names
  std::int64_t lost_counters_from_ = kNoStep;
  std::uint64_t told_again_ns_ = 0;  ///< when ranks were last bidden to tell it again
  std::uint32_t most_used_ = 0;
  StepTalkFacts facts_;
};

}  // namespace megascope::tensors
