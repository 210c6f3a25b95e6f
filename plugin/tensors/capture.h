#pragma once

#include "core/lifecycle/counter_sink.h"
#include "core/lifecycle/request_sink.h"
#include "core/lifecycle/tensor_sink.h"
#include "plugin/tensors/counter_past.h"
#include "plugin/tensors/counter_slots.h"
#include "plugin/tensors/letter.h"
#include "plugin/tensors/part_box.h"
#include "plugin/tensors/shards.h"
#include "plugin/tensors/wish.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace megascope::tensors {

/// What the live view's clients want of this process: makes it as the program shows its tensors and
/// sets its counters, and keeps it for the next letter to rank 0, kMostLetterBytes at most. Any
/// thread, except where said. Never destroyed.
class Capture final : public CounterSink, public RequestSink {
 public:
  /// From now on counters are followed, so that those who look later see what was. ranks: of the
  /// world.
  void follow_counters(std::size_t ranks);
  /// From now on this is wanted, and nothing else. The thread that begins steps.
  void set_wishes(std::vector<Wish> wishes);
  /// After that (CLOCK_MONOTONIC) nothing is shown until it is called again. Any thread.
  void show_until(std::uint64_t ns) noexcept {
    shown_until_ns_.store(ns, std::memory_order_relaxed);
  }
  /// Where this process stands among the others. As set_wishes().
  void set_layout(const Layout& layout);

  /// Of which kinds is anything wanted, of tensors of this name?
  TensorKinds wanted_kinds(std::string_view name) const noexcept;
  bool wants_statistics(const TensorView& tensor) const noexcept;
  /// Makes the views of it that are wanted.
  void take(const TensorView& tensor) noexcept;
  /// A counter has a new value: without a lock.
  void set(CounterId counter, double value) noexcept override;
  /// Takes the values that counters have now: once a step. The thread that begins steps, or one
  /// that takes letters.
  void read_counters() noexcept;

  void add(const Interval& interval);
  void add(const std::optional<CallSums>& sums);
  void polls() noexcept override;
  void ended_idle_step() noexcept override { was_idle_.store(true, std::memory_order_relaxed); }
  /// The step that ended last was idle (RequestSink); once.
  bool take_idle() noexcept { return was_idle_.exchange(false, std::memory_order_relaxed); }
  void reply(std::string_view text) noexcept override;
  /// A request begins to be worked at, which takes a minute at most; until then answers are in a
  /// hurry.
  void begin_request() noexcept;
  bool has_request() const noexcept;
  /// Puts a tensor's name into the next letter. False: it had no room, and is to be tried again.
  bool name(const TensorName& name);
  /// What this rank is, for the next letter.
  void introduce(RankFacts facts);
  /// For the next letter: the request under way, or the oldest accepted, will not be answered; why.
  void fail_request(const std::string& why);
  /// As introduce(): where it stands in the parallel groups, if that is news.
  void place(const std::string& place);
  /// Rank 0 may have missed what is told once: names, and what this rank is. The next letters say
  /// it again.
  void tell_again();
  /// Or what counters were set to from this step on.
  void tell_values_again(std::int64_t first_step);
  /// Something for all clients to read.
  void notify(const std::string& text);
  /// What there is to tell since the last letter; empty: nothing.
  std::vector<std::byte> take_letter() noexcept;

 private:
  static constexpr std::size_t kFirstBytes = std::size_t{64}
                                             << 10;  ///< of a letter, for what it begins with
  static constexpr std::size_t kMostNotices = 8;
  struct State {
    std::vector<Wish> wishes;
    Layout layout;
    std::uint32_t replica = 0;
  };
  std::shared_ptr<const State> state() const noexcept;
  bool is_asleep() const noexcept;
  void show(const Wish& wish, const TensorView& tensor, const State& state);
  void refuse(const Wish& wish, const TensorView& tensor, const std::string& problem);
  void learn_counters();
  void learn(CounterId counter, const std::string& name);
  void put_first(LetterWriter& letter) const;
  void put_parts(LetterWriter& letter);

  std::atomic<bool> was_idle_{false};
  mutable std::mutex mutex_;  ///< all of it; not held while views are made
  std::shared_ptr<const State> state_ = std::make_shared<const State>();
  std::atomic<std::uint64_t> request_until_ns_{
      0};  ///< of CLOCK_MONOTONIC: answers are expected until then
  std::atomic<std::uint64_t> shown_until_ns_{~std::uint64_t{0}};
  LetterWriter writer_{kMostLetterBytes - kFirstBytes};
  PartBox parts_{kMostLetterBytes - kFirstBytes};
  RankFacts rank_facts_;
  bool has_polled_ = false;
  // What the next letter begins with, whatever else has no room.
  bool is_to_introduce_ = false;
  bool is_to_tell_polls_ = false;
  std::string failure_;                      ///< of a request; empty: none
  std::vector<std::string> notices_;         ///< kMostNotices at most
  std::unordered_set<std::uint64_t> named_;  ///< keys of which rank 0 was told the names
  std::uint64_t left_out_told_ = 0;
  CounterSlots slots_;
  CounterPast past_;
  bool wants_counters_ = false;
  std::set<std::pair<std::uint32_t, TensorId>>
      refused_;  ///< wishes and tensors of which it has been said why they are not shown
};

}  // namespace megascope::tensors
