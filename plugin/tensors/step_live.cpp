#include <algorithm>
#include <new>
#include <utility>

#include "core/base/clock.h"
#include "plugin/tensors/step_talk.h"

/// The part of StepTalk that the live view needs: what goes to rank 0 with a step, and what its clients want.
namespace megascope::tensors {

/// Rank 0 is told what the key of its statistics stands for.
void StepTalk::name(Tensor& tensor) {
  if (capture_ == nullptr || std::exchange(tensor.named_version, layout_version_) == layout_version_) return;
  const std::string apart = tensor.shard.apart.empty() ? std::string() : " of " + tensor.shard.apart;
  capture_->name({.key = tensor.shard.key, .layer = tensor.layer, .kind = tensor.kind, .type = ElementType::kFloat32, .name = tensor.name + apart, .shape = {}});
}

void StepTalk::put_tail(std::span<std::byte> block) {
  if (tail_ranks_ == 0) return;
  const std::span<std::byte> tail = tail_of(block);
  const auto rank = static_cast<std::uint32_t>(layout_.world_rank);
  const auto ms = [](std::uint64_t ns) { return static_cast<float>(static_cast<double>(ns) * 1e-6); };
  if (step_ns_ != 0 && rank < tail_ranks_) set_times(tail, rank, {.step_ms = ms(step_ns_), .mpi_ms = ms(calls_ns_), .own_ms = ms(own_ns_), .is_said = 1});
  if (server_ == nullptr) return;
  (void)server_->changed_wishes(own_wishes_);
  set_wishes(tail, tail_ranks_, own_wishes_);
}

void StepTalk::obey_wishes(std::span<const std::byte> merged) noexcept {
  if (capture_ == nullptr) return;
  const std::span<const std::byte> wishes = wishes_in(tail_of(merged), tail_ranks_);
  if (std::ranges::equal(wishes, wishes_)) return;
  try {
    wishes_.assign(wishes.begin(), wishes.end());
    capture_->set_wishes(unpack_wishes(wishes));
  } catch (const std::bad_alloc&) {
    wishes_.clear();  // again with the next block
  }
}

/// Where steps begin their rows say more.
void StepTalk::pulse() noexcept {
  if (capture_ == nullptr || begin_ns_ != 0) return;
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
  if (server_ != nullptr) (void)server_->take(LiveKind::kLetter, world_rank, letter);
}

}  // namespace megascope::tensors
