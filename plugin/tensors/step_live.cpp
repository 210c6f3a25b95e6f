#include <algorithm>
#include <new>
#include <utility>

#include "core/base/clock.h"
#include "core/hooks/requests.h"
#include "plugin/tensors/step_talk.h"

/// The part of StepTalk that the live view needs: what goes to rank 0 with a step, and what its clients want.
namespace megascope::tensors {

/// Rank 0 is told what the key of its statistics stands for.
void StepTalk::name(Tensor& tensor) {
  if (capture_ == nullptr || tensor.named_version == layout_version_) return;
  const std::string apart = tensor.shard.apart.empty() ? std::string() : " of " + tensor.shard.apart;
  const bool is_told = capture_->name({.key = tensor.shard.key, .layer = tensor.layer, .kind = tensor.kind, .type = tensor.shape.type, .name = tensor.name + apart,
                                       .shape = whole_shape(tensor.shape, tensor.split_group, layout_)});
  if (is_told) tensor.named_version = layout_version_;
}

void StepTalk::tell_again() {
  capture_->tell_again();
  const std::lock_guard lock(mutex_);
  for (Tensor& tensor : tensors_) tensor.named_version = 0;
}

void StepTalk::put_tail(std::span<std::byte> block) {
  if (tail_ranks_ == 0) return;
  const std::span<std::byte> tail = tail_of(block);
  const auto rank = static_cast<std::uint32_t>(layout_.world_rank);
  const auto ms = [](std::uint64_t ns) { return static_cast<float>(static_cast<double>(ns) * 1e-6); };
  if (step_ns_ != 0 && rank < tail_ranks_) set_times(tail, rank, {.step_ms = ms(step_ns_), .mpi_ms = ms(calls_ns_), .own_ms = ms(own_ns_), .is_said = 1});
  if (server_ == nullptr) return;
  if (std::exchange(has_lost_letters_, false)) ++word_.names_number;
  (void)server_->changed_wishes(own_wishes_);
  set_wishes(tail, tail_ranks_, own_wishes_);
  put_request(tail);
}

/// The next one goes out once all ranks have this one.
void StepTalk::put_request(std::span<std::byte> tail) {
  std::string text;
  if (own_request_.number == settled_request_ && server_->next_request(text) && text.size() <= own_request_.text.size()) {
    ++own_request_.number;
    own_request_.bytes = text.size();
    std::ranges::copy(text, own_request_.text.begin());
  }
  set_request(tail, own_request_);
}

void StepTalk::obey_wishes(std::span<const std::byte> merged) {
  const std::span<const std::byte> wishes = wishes_in(tail_of(merged), tail_ranks_);
  if (std::ranges::equal(wishes, wishes_)) return;
  wishes_.clear();  // should memory run out, they are obeyed with the next block
  capture_->set_wishes(unpack_wishes(wishes));
  wishes_.assign(wishes.begin(), wishes.end());
}

/// First all ranks say that they have it: some may have stopped. In the block behind the next one they say so, and where that is obeyed it
/// is the program's, on all of them at one boundary.
void StepTalk::obey_request(std::span<const std::byte> merged) {
  if (promised_blocks_ != 0 && --promised_blocks_ == 0) {
    settled_request_ = seen_request_;
    const bool is_for_all = header_of(merged).lowest_request >= seen_request_ && !has_stopped_;
    if (is_for_all) capture_->begin_request();
    if (is_for_all) hooks::offer_request(std::exchange(request_, {}));
    else if (is_speaker()) capture_->notify("a request is passed over: not all ranks begin steps any more");
  }
  const TailRequest request = request_in(tail_of(merged));
  if (request.number <= seen_request_) return;
  request_.assign(request.text.data(), request.bytes);
  seen_request_ = request.number;
  promised_blocks_ = 2;
}

/// Where steps begin their rows say more. While a request is worked at its answers are to leave soon.
std::uint64_t StepTalk::pulse() noexcept {
  constexpr std::uint64_t kPeriodNs = 250'000'000;
  constexpr std::uint64_t kHurriedNs = 5'000'000;
  if (capture_ == nullptr) return kPeriodNs;
  if (begin_ns_ == 0) tell_interval();
  return capture_->has_request() ? kHurriedNs : kPeriodNs;
}

void StepTalk::tell_interval() noexcept {
  const std::uint64_t now_ns = clock::monotonic_ns();
  const std::uint64_t begin_ns = std::exchange(pulse_ns_, now_ns);
  if (begin_ns != 0 && now_ns - begin_ns < static_cast<std::uint64_t>(kIntervalMs) * 900'000) {
    pulse_ns_ = begin_ns;
    return;
  }
  const auto ms = [](std::uint64_t ns) { return static_cast<float>(static_cast<double>(ns) * 1e-6); };
  const Interval interval{.index = clock::realtime_ns() / (kIntervalMs * 1'000'000), .length_ms = ms(now_ns - begin_ns), .mpi_ms = ms(calls_ns_), .own_ms = ms(own_ns_)};
  calls_ns_ = own_ns_ = 0;
  if (begin_ns == 0) return;
  try {
    capture_->add(interval);
  } catch (const std::bad_alloc&) {
  }
}

std::vector<std::byte> StepTalk::take_letter() noexcept { return capture_ == nullptr ? std::vector<std::byte>() : capture_->take_letter(); }

void StepTalk::receive(std::int32_t world_rank, std::span<const std::byte> letter) noexcept {
  if (server_ != nullptr && !server_->take(LiveKind::kLetter, world_rank, letter)) has_lost_letters_ = true;
}

}  // namespace megascope::tensors
