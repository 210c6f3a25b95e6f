#include "plugin/capture/capture.h"

#include "core/base/clock.h"
#include "core/hooks/hooks.h"
#include "core/hooks/refusals.h"
#include "plugin/capture/view.h"
#include "plugin/tensors/tensor_choice.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <optional>

namespace megascope::capture {
namespace {

constexpr std::size_t kMaxRefused = 4096;

bool is_view(const CaptureRequest& capture_request) {
  return capture_request.kind == CaptureRequestKind::kTile ||
         capture_request.kind == CaptureRequestKind::kWhole;
}

bool is_of(const CaptureRequest& capture_request, const TensorView& tensor) {
  const TensorShape& shape = tensor.shape;
  return tensors::matches(capture_request.pattern(), tensor.name) &&
         (capture_request.tensor_kind == kAnyKind ||
          capture_request.tensor_kind == static_cast<std::uint8_t>(shape.kind)) &&
         capture_request.first_layer <= shape.layer && shape.layer <= capture_request.last_layer;
}

/// For views, step, micro-batch and replica must match, too.
bool is_now(const CaptureRequest& capture_request, const TensorView& tensor,
            std::uint32_t replica) {
  const bool is_micro_batch = tensor.shape.micro_batch == kNoMicroBatch ||
                              tensor.shape.micro_batch == capture_request.micro_batch;
  const bool is_replica = tensors::is_of_model(tensor.shape.kind) ||
                          capture_request.replica == replica;
  return is_micro_batch && is_replica && tensor.step >= 0 &&
         tensor.step % capture_request.every == 0;
}

/// Whether both lists request the same counter patterns in the same order.
bool asks_for_same_counters(const std::vector<CaptureRequest>& before,
                            const std::vector<CaptureRequest>& now) {
  const auto patterns_of = [](const std::vector<CaptureRequest>& capture_requests) {
    std::vector<std::string_view> patterns;
    for (const CaptureRequest& capture_request : capture_requests) {
      if (capture_request.kind == CaptureRequestKind::kCounters)
        patterns.push_back(capture_request.pattern());
    }
    return patterns;
  };
  return patterns_of(before) == patterns_of(now);
}

tensors::ShardFacts facts_of(const TensorView& tensor) {
  const bool is_split = tensor.shape.split_dimension >= 0;
  return {.name = tensor.name,
          .layer = tensor.shape.layer,
          .kind = tensor.shape.kind,
          .is_split = is_split,
          .split_group = !is_split                    ? std::string_view()
                         : tensor.split_group.empty() ? std::string_view("tp")
                                                      : tensor.split_group};
}

}  // namespace

std::shared_ptr<const Capture::State> Capture::state() const noexcept {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Capture::set_capture_requests(std::vector<CaptureRequest> capture_requests) {
  auto next = std::make_shared<State>(*state());
  next->capture_requests = std::move(capture_requests);
  const bool wants_counters = std::ranges::any_of(
      next->capture_requests, [](const CaptureRequest& capture_request) {
        return capture_request.kind == CaptureRequestKind::kCounters;
      });
  const bool has_tensors = std::ranges::any_of(
      next->capture_requests, [](const CaptureRequest& capture_request) {
        return capture_request.kind != CaptureRequestKind::kCounters;
      });
  {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<const State> state_before = std::exchange(state_, std::move(next));
    if (!asks_for_same_counters(state_before->capture_requests, state_->capture_requests))
      past_.forget_capture_requests();
    if (wants_counters_ && !wants_counters) {
      for (const CounterId counter : past_.unknown()) past_.want(counter, false);
    }
    wants_counters_ = wants_counters;
    refused_.clear();
  }
  hooks::show_tensors(has_tensors);
}

void Capture::set_layout(const tensors::Layout& layout) {
  auto next = std::make_shared<State>(*state());
  next->layout = layout;
  next->replica = 0;
  for (const ParallelIndex& dimension : layout.dimensions) {
    if (dimension.name == "dp") next->replica = static_cast<std::uint32_t>(dimension.index);
  }
  const std::lock_guard lock(mutex_);
  state_ = std::move(next);
  named_.clear();  // the global shapes depend on the layout
}

TensorKinds Capture::wanted_kinds(std::string_view name) noexcept {
  TensorKinds kinds = 0;
  for (const CaptureRequest& capture_request : state()->capture_requests) {
    if (capture_request.kind == CaptureRequestKind::kCounters ||
        !tensors::matches(capture_request.pattern(), name))
      continue;
    kinds |= capture_request.tensor_kind == kAnyKind
                 ? kAllTensorKinds
                 : kinds_with(static_cast<TensorKind>(capture_request.tensor_kind));
  }
  return kinds;
}

bool Capture::is_asleep() const noexcept {
  return clock::monotonic_ns() > shown_until_ns_.load(std::memory_order_relaxed);
}

bool Capture::wants_statistics(const TensorView& tensor) const noexcept {
  return !is_asleep() &&
         std::ranges::any_of(state()->capture_requests, [&](const CaptureRequest& capture_request) {
           return capture_request.kind == CaptureRequestKind::kStatistics &&
                  is_of(capture_request, tensor);
         });
}

void Capture::take(const TensorView& tensor) noexcept {
  const std::shared_ptr<const State> now = state();
  if (now->capture_requests.empty() || is_asleep()) return;
  try {
    for (const CaptureRequest& capture_request : now->capture_requests) {
      if (is_view(capture_request) && is_of(capture_request, tensor) &&
          is_now(capture_request, tensor, now->replica))
        show(capture_request, tensor, *now);
    }
  } catch (const std::bad_alloc&) {
    hooks::refuse(LossCause::kRefused, "out of memory for a tensor view");
  }
}

void Capture::show(const CaptureRequest& capture_request, const TensorView& tensor,
                   const State& state) {
  std::string problem;
  if (tensor.is_on_device)
    return refuse(capture_request, tensor, "is in device memory and cannot be shown");
  const std::optional<TensorView> flat = flattened(
      tensor, capture_request.kind == CaptureRequestKind::kTile ? capture_request.keep : 0,
      problem);
  if (!flat) return refuse(capture_request, tensor, problem);
  const std::optional<Spread> spread = spread_of(*flat, state.layout, problem);
  if (!spread) return refuse(capture_request, tensor, problem);
  if (!spread->is_first_copy) return;
  std::optional<ViewPart> part = make_part(capture_request, *flat, *spread, problem);
  if (!part) return refuse(capture_request, tensor, problem);
  part->capture_request = capture_request.id;
  part->key = tensors::shard_of(facts_of(tensor), state.layout).key;
  part->step = tensor.step;
  part->replica = tensors::is_of_model(tensor.shape.kind) ? 0 : state.replica;
  part->realtime_ns = clock::realtime_ns();
  if (rank_update_bytes(*part) > kMaxRankUpdateBytes - kFirstBytes)
    return refuse(capture_request, tensor,
                  "makes a view that exceeds the size of a rank update; request fewer tiles");
  (void)name({.key = part->key,
              .layer = tensor.shape.layer,
              .kind = tensor.shape.kind,
              .type = tensor.shape.type,
              .name = std::string(tensor.name),
              .shape = tensors::whole_shape(tensor.shape, tensor.split_group, state.layout)});
  const std::lock_guard lock(mutex_);
  parts_.add(std::move(*part));
}

void Capture::refuse(const CaptureRequest& capture_request, const TensorView& tensor,
                     const std::string& problem) {
  const std::lock_guard lock(mutex_);
  const std::pair once(capture_request.id, tensor.id);
  if (refused_.size() == kMaxRefused || refused_.contains(once)) return;
  if (writer_.add(Notice{capture_request.id, std::string(tensor.name) + " " + problem}))
    refused_.insert(once);
}

void Capture::add(const Interval& interval) {
  const std::lock_guard lock(mutex_);
  writer_.add(interval);
}

void Capture::add(const std::optional<CallSums>& sums) {
  const std::lock_guard lock(mutex_);
  if (sums) writer_.add(*sums);
}

void Capture::note_first_poll() noexcept {
  const std::lock_guard lock(mutex_);
  has_polled_ = is_to_report_polls_ = true;
}

void Capture::reply(std::string_view text) noexcept {
  const char* problem = text.size() > kMaxReplyBytes ? "a reply to a request is larger than 1 MiB"
                                                     : nullptr;
  try {
    const std::lock_guard lock(mutex_);
    if (problem == nullptr && !writer_.add(Reply{std::string(text)}))
      problem = "a reply to a request did not fit into the rank update to rank 0";
    if (problem != nullptr) failure_ = problem;  // this may be the last reply of the request
  } catch (const std::bad_alloc&) {
    problem = "out of memory for a reply to a request";
  }
  if (problem != nullptr) hooks::refuse(LossCause::kRefused, problem);
}

void Capture::begin_request() noexcept {
  constexpr std::uint64_t kHurryNs = 60'000'000'000;
  request_until_ns_.store(clock::monotonic_ns() + kHurryNs, std::memory_order_relaxed);
}

bool Capture::has_request() const noexcept {
  return clock::monotonic_ns() < request_until_ns_.load(std::memory_order_relaxed);
}

bool Capture::name(const TensorName& name) {
  const std::lock_guard lock(mutex_);
  if (named_.contains(name.key)) return true;
  if (!writer_.add(name)) return false;
  named_.insert(name.key);
  return true;
}

void Capture::introduce(RankFacts facts) {
  const std::lock_guard lock(mutex_);
  rank_facts_ = std::move(facts);
  is_to_introduce_ = true;
}

void Capture::place(const std::string& place) {
  const std::lock_guard lock(mutex_);
  if (rank_facts_.place == place) return;
  rank_facts_.place = place;
  is_to_introduce_ = !rank_facts_.host.empty();
}

void Capture::report_again() {
  const std::lock_guard lock(mutex_);
  named_.clear();
  past_.name_again();
  is_to_introduce_ = !rank_facts_.host.empty();
  is_to_report_polls_ = has_polled_;
}

void Capture::notify(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (notices_.size() < kMaxNotices) notices_.push_back(text);
}

void Capture::fail_request(const std::string& why) {
  const std::lock_guard lock(mutex_);
  failure_ = why;
}

/// Call put_first() and put_parts() with mutex_ held. Adds at most kFirstBytes, together with the
/// LeftOut item of put_parts().
void Capture::put_first(RankUpdateWriter& rank_update) const {
  if (is_to_introduce_) rank_update.add(rank_facts_);
  if (is_to_report_polls_) rank_update.add(Polls{});
  if (!failure_.empty()) rank_update.add(RequestFailed{failure_});
  for (const std::string& notice : notices_) rank_update.add(Notice{0, notice});
}

void Capture::put_parts(RankUpdateWriter& rank_update) {
  constexpr std::size_t kSpaceForLeftOut = 64;
  const std::vector<ViewPart> parts = parts_.take(
      kMaxRankUpdateBytes - kSpaceForLeftOut -
      std::min(kMaxRankUpdateBytes - kSpaceForLeftOut, rank_update.size()));
  rank_update.reserve(std::transform_reduce(parts.begin(), parts.end(), kSpaceForLeftOut,
                                            std::plus<>(), rank_update_bytes));
  for (const ViewPart& part : parts) rank_update.add(part);
  const std::uint64_t left_out = parts_.left_out();
  if (left_out != left_out_reported_ && rank_update.add(LeftOut{left_out - left_out_reported_}))
    left_out_reported_ = left_out;
}

/// If memory runs out, items that were not packed stay queued; some view parts may be discarded.
std::vector<std::byte> Capture::take_rank_update() noexcept {
  RankUpdateWriter rank_update;
  try {
    read_counters();
    learn_counters();
    const std::lock_guard lock(mutex_);
    past_.put(writer_);
    put_first(rank_update);
    rank_update.add(writer_);
    writer_.clear();
    is_to_introduce_ = is_to_report_polls_ = false;
    failure_.clear();
    notices_.clear();
    put_parts(rank_update);
  } catch (const std::bad_alloc&) {
    hooks::refuse(LossCause::kRefused, "out of memory for the rank update to rank 0");
  }
  return rank_update.take();
}

}  // namespace megascope::capture
