#pragma once

#include "core/lifecycle/counter_sink.h"
#include "core/lifecycle/request_sink.h"
#include "core/lifecycle/tensor_sink.h"
#include "plugin/capture/capture_request.h"
#include "plugin/capture/counter_past.h"
#include "plugin/capture/counter_slots.h"
#include "plugin/capture/part_box.h"
#include "plugin/capture/rank_update.h"
#include "plugin/tensors/shards.h"

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

namespace megascope::capture {

/// Captures on this process what clients of the live view requested: tensor statistics, tensor
/// views, counter values, replies of the application. Captured items wait here until
/// take_rank_update() packs them into the next rank update for rank 0 (at most
/// kMaxRankUpdateBytes). Any thread, except where a function says otherwise. Never destroyed,
/// because hooks may call it until the process ends.
class Capture final : public CounterSink, public CaptureSink, public RequestSink {
 public:
  /// Starts recording counter values, so that clients that connect later also get earlier values.
  /// ranks: size of MPI_COMM_WORLD; the history is bounded over all ranks together.
  void follow_counters(std::size_t ranks);
  /// Replaces the set of capture requests. Only on the thread that begins steps.
  void set_capture_requests(std::vector<CaptureRequest> capture_requests);
  /// Sets the time (CLOCK_MONOTONIC, ns) at which capture of tensors is suspended. A later call
  /// with a later time resumes it. Any thread.
  void show_until(std::uint64_t ns) noexcept {
    shown_until_ns_.store(ns, std::memory_order_relaxed);
  }
  /// Sets this process's coordinates in the parallel groups. Only on the thread that begins steps.
  void set_layout(const tensors::Layout& layout);

  /// Returns the tensor kinds that some capture request selects for tensors of this name.
  TensorKinds wanted_kinds(std::string_view name) noexcept override;
  bool wants_statistics(const TensorView& tensor) const noexcept override;
  /// Computes all requested views of the tensor and queues them. Reads the tensor on the calling
  /// thread. If a view cannot be made, queues a notice for the client that says why.
  void take(const TensorView& tensor) noexcept override;
  /// Records a counter's new value. Lock-free.
  void set(CounterId counter, double value) noexcept override;
  /// Copies the current counter values into the history, once a step. Only on the thread that
  /// begins steps or takes rank updates.
  void read_counters() noexcept;

  void add(const Interval& interval);
  void add(const std::optional<CallSums>& sums);
  void note_first_poll() noexcept override;
  void note_idle_step() noexcept override { was_idle_.store(true, std::memory_order_relaxed); }
  /// Whether the step that ended last was idle (RequestSink::note_idle_step). Resets the flag.
  bool take_idle() noexcept { return was_idle_.exchange(false, std::memory_order_relaxed); }
  void reply(std::string_view text) noexcept override;
  /// Marks the start of a client's request. For one minute from here, has_request() is true and
  /// rank updates are polled at a shorter interval.
  void begin_request() noexcept;
  bool has_request() const noexcept;
  /// Queues a tensor's name for the next rank update. Returns false if the rank update has no space
  /// for it; the caller tries again later.
  bool name(const TensorName& name);
  /// Queues this rank's process facts for the next rank update.
  void introduce(RankFacts facts);
  /// Queues for the next rank update that the client request in progress fails. If none is in
  /// progress, the oldest accepted request fails. why: text shown to the client.
  void fail_request(const std::string& why);
  /// Queues this rank's coordinates in the parallel groups (e.g. "dp 0, tp 1"), if they changed.
  void place(const std::string& place);
  /// Queues again everything that is normally sent once (names, process facts), because rank 0 may
  /// have dropped a rank update.
  void report_again();
  /// Queues again the counter values from `first_step` on.
  void report_values_again(std::int64_t first_step);
  /// Queues a text for all clients. At most kMaxNotices per rank update; more are ignored.
  void notify(const std::string& text);
  /// Packs everything queued into a rank update. Returns an empty vector if nothing is queued.
  std::vector<std::byte> take_rank_update() noexcept;

 private:
  /// Bytes of a rank update reserved for put_first()
  static constexpr std::size_t kFirstBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMaxNotices = 8;
  struct State {
    std::vector<CaptureRequest> capture_requests;
    tensors::Layout layout;
    std::uint32_t replica = 0;
  };
  std::shared_ptr<const State> state() const noexcept;
  bool is_asleep() const noexcept;
  void show(const CaptureRequest& capture_request, const TensorView& tensor, const State& state);
  void refuse(const CaptureRequest& capture_request, const TensorView& tensor,
              const std::string& problem);
  void learn_counters();
  void learn(CounterId counter, const std::string& name);
  void put_first(RankUpdateWriter& rank_update) const;
  void put_parts(RankUpdateWriter& rank_update);

  std::atomic<bool> was_idle_{false};
  /// Guards all non-atomic members except slots_. Not held while views are made.
  mutable std::mutex mutex_;
  std::shared_ptr<const State> state_ = std::make_shared<const State>();
  /// CLOCK_MONOTONIC; replies of the application to a client request are expected until this time.
  std::atomic<std::uint64_t> request_until_ns_{0};
  std::atomic<std::uint64_t> shown_until_ns_{~std::uint64_t{0}};
  RankUpdateWriter writer_{kMaxRankUpdateBytes - kFirstBytes};
  PartBox parts_{kMaxRankUpdateBytes - kFirstBytes};
  RankFacts rank_facts_;
  bool has_polled_ = false;
  // The next rank update begins with the following four items. Space is reserved for them.
  bool is_to_introduce_ = false;
  bool is_to_report_polls_ = false;
  std::string failure_;                      ///< why a client request fails; empty: none fails
  std::vector<std::string> notices_;         ///< kMaxNotices at most
  std::unordered_set<std::uint64_t> named_;  ///< keys of the tensors whose names rank 0 has
  std::uint64_t left_out_reported_ = 0;
  CounterSlots slots_;
  CounterPast past_;
  bool wants_counters_ = false;
  /// Capture request ids and tensors for which a notice was queued that says why there is no view.
  std::set<std::pair<std::uint32_t, TensorId>> refused_;
};

}  // namespace megascope::capture
