#include "core/base/clock.h"
#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"
#include "core/hooks/requests.h"
#include "plugin/steps/step_exchange.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

/// The part of StepExchange for the live view: what a rank sends to rank 0 with a step, and what
/// clients requested.
namespace megascope::steps {

/// Queues for rank 0 the name that belongs to the key of the tensor's statistics.
void StepExchange::name(Tensor& tensor) {
  if (capture_ == nullptr || tensor.named_version == layout_version_) return;
  const std::string apart = tensor.shard.apart.empty() ? std::string()
                                                       : " of " + tensor.shard.apart;
  const bool is_reported = capture_->name(
      {.key = tensor.shard.key,
       .layer = tensor.layer,
       .kind = tensor.kind,
       .type = tensor.shape.type,
       .name = tensor.name + apart,
       .shape = tensors::whole_shape(tensor.shape, tensor.split_group, layout_)});
  if (is_reported) tensor.named_version = layout_version_;
}

void StepExchange::report_again(const ControlWord& word) {
  capture_->report_values_again(word.counters_from);
  if (word.has_lost_names == 0) return;
  capture_->report_again();
  const std::lock_guard lock(mutex_);
  for (Tensor& tensor : tensors_) tensor.named_version = 0;
}

void StepExchange::put_tail(std::span<std::byte> block) {
  if (tail_ranks_ == 0) return;
  const std::span<std::byte> tail = tail_of(block);
  const auto rank = static_cast<std::uint32_t>(layout_.world_rank);
  const auto ms = [](std::uint64_t ns) {
    return static_cast<float>(static_cast<double>(ns) * 1e-6);
  };
  const bool is_idle = capture_ != nullptr && capture_->take_idle();
  if (step_ns_ != 0 && rank < tail_ranks_)
    set_times(tail, rank,
              {.step_ms = ms(step_ns_),
               .mpi_ms = ms(calls_ns_),
               .own_ms = ms(own_ns_),
               .is_announced = is_idle ? kReported | kIdle : kReported});
  if (server_ == nullptr) return;
  bid_report_again();
  (void)server_->changed_capture_requests(own_capture_requests_);
  set_capture_requests(tail, tail_ranks_, own_capture_requests_);
  put_request(tail);
}

/// Distributes the next client request once all ranks have the current one.
void StepExchange::put_request(std::span<std::byte> tail) {
  std::string text;
  if (own_request_.number == settled_request_ && server_->next_request(text)) {
    ++own_request_.number;
    // Truncated to kMaxRequestBytes, the limit that the server enforces.
    own_request_.bytes = std::min(text.size(), own_request_.text.size());
    std::ranges::copy_n(text.begin(), static_cast<std::ptrdiff_t>(own_request_.bytes),
                        own_request_.text.begin());
  }
  set_request(tail, own_request_);
}

void StepExchange::apply_capture_requests(std::span<const std::byte> merged) {
  const std::span<const std::byte> capture_requests = capture_requests_in(tail_of(merged),
                                                                          tail_ranks_);
  if (capture_requests.size() == capture_requests_.size() &&
      (capture_requests.empty() || std::memcmp(capture_requests.data(), capture_requests_.data(),
                                               capture_requests.size()) == 0))
    return;
  capture_requests_.clear();  // if memory runs out below, the next block applies the requests again
  capture_->set_capture_requests(capture::unpack_capture_requests(capture_requests));
  capture_requests_.assign(capture_requests.begin(), capture_requests.end());
}

/// Two-phase commit of a client request, because some ranks may have stopped. A rank that has
/// received the request acknowledges it in its block after the next one (lowest_request). When that
/// block takes effect, all ranks hand the request to the application at the same boundary, or all
/// reject it.
void StepExchange::apply_request(std::span<const std::byte> merged) {
  if (promised_blocks_ != 0 && --promised_blocks_ == 0) {
    settled_request_ = seen_request_;
    const bool is_for_all = header_of(merged).lowest_request >= seen_request_ && !has_stopped_;
    if (is_for_all) capture_->begin_request();
    if (is_for_all)
      hooks::offer_request(std::exchange(request_, {}));
    else if (is_rank_0())
      fail_request("the request was rejected: some ranks no longer begin steps");
  }
  const TailRequest request = request_in(tail_of(merged));
  if (request.number <= seen_request_) return;
  request_.assign(request.text.data(), request.bytes);
  seen_request_ = request.number;
  promised_blocks_ = 2;
}

/// Reports the current request as failed, once. Only on rank 0.
void StepExchange::fail_request(const std::string& why) {
  if (failed_request_ == own_request_.number) return;
  capture_->fail_request(why);
  failed_request_ = own_request_.number;
}

/// Reports a queued request as failed if rank 0 has left the step exchange.
void StepExchange::refuse_requests() noexcept {
  std::string text;
  if (server_ == nullptr || !has_stopped_ || !server_->next_request(text)) return;
  try {
    capture_->fail_request("rank 0 has left the step exchange");
  } catch (const std::bad_alloc&) {
  }
}

void StepExchange::wake(std::uint64_t now_ns) noexcept {
  if (capture_ == nullptr || has_stopped_) return;
  awake_until_ns_ = now_ns + sleep_after_ns_ +
                    4 * std::max(step_ns_, std::exchange(former_step_ns_, step_ns_));
  capture_->show_until(awake_until_ns_);
  if (!is_asleep_) return;
  try {
    capture_->set_capture_requests(capture::unpack_capture_requests(capture_requests_));
    is_asleep_ = false;
  } catch (const std::bad_alloc&) {
  }
}

/// Suspends capture, because without step blocks rank 0 cannot tell this rank that no client needs
/// it any more.
void StepExchange::fall_asleep() noexcept {
  try {
    if (capture::unpack_capture_requests(capture_requests_).empty()) return;
    capture_->set_capture_requests({});
    is_asleep_ = true;
    if (is_rank_0())
      capture_->notify("no step has begun since step " + std::to_string(step_) +
                       ": tensors are captured again when the next step begins");
  } catch (const std::bad_alloc&) {
  }
}

/// Reports intervals only where no steps begin; otherwise the rows of step blocks have the same
/// data. While a client request is being processed, polls more often so that replies leave soon.
std::uint64_t StepExchange::progress_tick() noexcept {
  constexpr std::uint64_t kPeriodNs = 250'000'000;
  constexpr std::uint64_t kHurriedNs = 5'000'000;
  if (capture_ == nullptr) return kPeriodNs;
  if (begin_ns_ == 0) report_interval();
  if (!is_asleep_ && !has_stopped_ && clock::monotonic_ns() > awake_until_ns_) fall_asleep();
  return capture_->has_request() ? kHurriedNs : kPeriodNs;
}

void StepExchange::report_interval() noexcept {
  const std::uint64_t now_ns = clock::monotonic_ns();
  const std::uint64_t begin_ns = std::exchange(progress_tick_ns_, now_ns);
  if (begin_ns != 0 &&
      now_ns - begin_ns < static_cast<std::uint64_t>(capture::kIntervalMs) * 900'000) {
    progress_tick_ns_ = begin_ns;
    return;
  }
  const auto ms = [](std::uint64_t ns) {
    return static_cast<float>(static_cast<double>(ns) * 1e-6);
  };
  const capture::Interval interval{
      .index = clock::realtime_ns() / (capture::kIntervalMs * 1'000'000),
      .length_ms = ms(now_ns - begin_ns),
      .mpi_ms = ms(calls_ns_),
      .own_ms = ms(own_ns_)};
  calls_ns_ = own_ns_ = 0;
  if (begin_ns == 0) return;
  try {
    capture_->add(interval);
    if (Recorder* const recorder = hooks::recorder())
      capture_->add(call_report_.next(*recorder, interval.index));
  } catch (const std::bad_alloc&) {
  }
}

std::vector<std::byte> StepExchange::take_rank_update() noexcept {
  if (capture_ == nullptr) return {};
  std::vector<std::byte> rank_update = capture_->take_rank_update();
  refuse_requests();  // one request a call
  return rank_update;
}

void StepExchange::receive(std::int32_t world_rank,
                           std::span<const std::byte> rank_update) noexcept {
  if (server_ != nullptr && !server_->take(LiveKind::kRankUpdate, world_rank, rank_update))
    lose_rank_update(static_cast<std::uint32_t>(world_rank), capture::contents_of(rank_update));
}

void StepExchange::receive_whole(std::int32_t world_rank,
                                 std::vector<std::byte>&& rank_update) noexcept {
  if (server_ != nullptr &&
      !server_->take_whole(LiveKind::kRankUpdate, world_rank, std::move(rank_update)))
    lose_rank_update(static_cast<std::uint32_t>(world_rank), capture::contents_of(rank_update));
}

/// The server's queue is full; the server counts the drop. Remembers what must be sent again.
void StepExchange::lose_rank_update(std::uint32_t world_rank,
                                    capture::RankUpdateContents lost) noexcept {
  if (lost.has_names || lost.counters_from != capture::RankUpdateContents().counters_from) {
    first_lost_ = std::min(first_lost_, world_rank);
    last_lost_ = std::max(last_lost_, world_rank);
    has_lost_names_ |= lost.has_names;
    lost_counters_from_ = std::min(lost_counters_from_, lost.counters_from);
  }
  if (!lost.has_answers) return;
  try {
    capture_->fail_request("a reply was dropped: rank 0 cannot keep up with rank updates");
  } catch (const std::bad_alloc&) {
  }
}

/// Asks the ranks whose rank updates were dropped to send their contents again. At most once in 2
/// s, because resending adds to the load that caused the drops.
void StepExchange::bid_report_again() noexcept {
  constexpr std::uint64_t kPeriodNs = 2'000'000'000;
  const std::uint64_t now_ns = clock::monotonic_ns();
  if (first_lost_ > last_lost_ || now_ns - reported_again_ns_ < kPeriodNs) return;
  reported_again_ns_ = now_ns;
  ++word_.lost_number;
  word_.counters_from = std::exchange(lost_counters_from_, kNoStep);
  word_.has_lost_names = std::exchange(has_lost_names_, false) ? 1 : 0;
  word_.first_teller = std::exchange(first_lost_, ~std::uint32_t{0});
  word_.last_teller = std::exchange(last_lost_, 0);
}

}  // namespace megascope::steps
