#include "plugin/steps/live_mailbox.h"

#include "core/base/clock.h"
#include "core/buffer/recorder.h"
#include "core/hooks/hooks.h"

#include <new>
#include <string>
#include <utility>

namespace megascope::steps {

std::uint64_t LiveMailbox::progress_tick() noexcept {
  constexpr std::uint64_t kPeriodNs = 250'000'000;
  constexpr std::uint64_t kHurriedNs = 5'000'000;
  if (times_.begin_ns == 0) report_interval();
  if (suspension_.suspend_if_due() && server_ != nullptr) report_suspension();
  return capture_.has_request() ? kHurriedNs : kPeriodNs;
}

void LiveMailbox::report_suspension() noexcept {
  try {
    capture_.notify("no step has begun since step " + std::to_string(times_.step) +
                    ": tensors are captured again when the next step begins");
  } catch (const std::bad_alloc&) {
  }
}

void LiveMailbox::report_interval() noexcept {
  const std::uint64_t now_ns = clock::monotonic_ns();
  const std::uint64_t begin_ns = interval_begin_ns_;
  if (begin_ns != 0 &&
      now_ns - begin_ns < static_cast<std::uint64_t>(capture::kIntervalMs) * 900'000)
    return;
  interval_begin_ns_ = now_ns;
  const auto ms = [](std::uint64_t ns) {
    return static_cast<float>(static_cast<double>(ns) * 1e-6);
  };
  const capture::Interval interval{
      .index = clock::realtime_ns() / (capture::kIntervalMs * 1'000'000),
      .length_ms = ms(now_ns - begin_ns),
      .mpi_ms = ms(times_.calls_ns),
      .own_ms = ms(times_.own_ns)};
  times_.calls_ns = times_.own_ns = 0;
  if (begin_ns == 0) return;
  try {
    capture_.add(interval);
    if (Recorder* const recorder = hooks::recorder())
      capture_.add(call_report_.next(*recorder, interval.index));
  } catch (const std::bad_alloc&) {
  }
}

std::vector<std::byte> LiveMailbox::take_rank_update() noexcept {
  std::vector<std::byte> rank_update = capture_.take_rank_update();
  if (server_ != nullptr) requests_.reject_next(*server_);  // one request a call
  return rank_update;
}

void LiveMailbox::receive(std::int32_t world_rank,
                          std::span<const std::byte> rank_update) noexcept {
  if (server_ != nullptr && !server_->take(LiveKind::kRankUpdate, world_rank, rank_update))
    lose(world_rank, capture::contents_of(rank_update));
}

void LiveMailbox::receive_whole(std::int32_t world_rank,
                                std::vector<std::byte>&& rank_update) noexcept {
  if (server_ != nullptr &&
      !server_->take_whole(LiveKind::kRankUpdate, world_rank, std::move(rank_update)))
    lose(world_rank, capture::contents_of(rank_update));
}

/// The server's queue is full; the server counts the drop.
void LiveMailbox::lose(std::int32_t world_rank, const capture::RankUpdateContents& lost) noexcept {
  lost_.add(static_cast<std::uint32_t>(world_rank), lost);
  if (!lost.has_answers) return;
  try {
    capture_.fail_request("a reply was dropped: rank 0 cannot keep up with rank updates");
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace megascope::steps
