#include "plugin/steps/live_payload.h"

#include <algorithm>
#include <string>

namespace megascope::steps {
namespace {

bool is_between(std::uint32_t first, std::uint32_t rank, std::uint32_t last) {
  return first <= rank && rank <= last;
}

}  // namespace

void LivePayload::serve(LiveServer* server) noexcept {
  server_ = server;
  mailbox_.serve(server);
}

void LivePayload::open(std::int32_t world_size) {
  capture_.follow_counters(static_cast<std::size_t>(std::max(world_size, 1)));
  tail_ranks_ = static_cast<std::uint32_t>(
      std::clamp(world_size, 1, static_cast<std::int32_t>(kMaxLiveRanks)));
}

void LivePayload::set_layout(const tensors::OwnLayout& layout) {
  capture_.set_layout(layout.layout());
  capture_.place(layout.coordinates());
}

void LivePayload::name(tensors::ShownTensors::Tensor& tensor, const tensors::OwnLayout& layout) {
  if (tensor.named_version == layout.version()) return;
  const std::string apart = tensor.shard.apart.empty() ? std::string()
                                                       : " of " + tensor.shard.apart;
  const bool is_reported = capture_.name(
      {.key = tensor.shard.key,
       .layer = tensor.layer,
       .kind = tensor.kind,
       .type = tensor.shape.type,
       .name = tensor.name + apart,
       .shape = tensors::whole_shape(tensor.shape, tensor.split_group, layout.layout())});
  if (is_reported) tensor.named_version = layout.version();
}

void LivePayload::put_tail(std::span<std::byte> block, std::uint32_t world_rank,
                           ControlWord& word) {
  if (tail_ranks_ == 0) return;
  const std::span<std::byte> tail = tail_of(block);
  const auto ms = [](std::uint64_t ns) {
    return static_cast<float>(static_cast<double>(ns) * 1e-6);
  };
  const bool is_idle = capture_.take_idle();
  if (times_.step_ns != 0 && world_rank < tail_ranks_)
    set_times(tail, world_rank,
              {.step_ms = ms(times_.step_ns),
               .mpi_ms = ms(times_.calls_ns),
               .own_ms = ms(times_.own_ns),
               .is_announced = is_idle ? kReported | kIdle : kReported});
  if (server_ == nullptr) return;
  mailbox_.ask_again(word);
  (void)server_->changed_capture_requests(capture_requests_);
  set_capture_requests(tail, tail_ranks_, capture_requests_);
  requests_.take_next(*server_);
  set_request(tail, requests_.carried());
}

/// Rank 0's requests are part of every block it fills.
void LivePayload::put_absent_tail(std::span<std::byte> block) const noexcept {
  if (server_ == nullptr || tail_ranks_ == 0) return;
  set_capture_requests(tail_of(block), tail_ranks_, capture_requests_);
  set_request(tail_of(block), requests_.carried());
}

void LivePayload::deliver(std::span<const std::byte> merged) noexcept {
  if (server_ != nullptr) (void)server_->take(LiveKind::kBlock, 0, merged);
}

void LivePayload::apply(std::span<const std::byte> merged, const ControlWord& word,
                        std::uint32_t world_rank) {
  const std::span<const std::byte> tail = tail_of(merged);
  requests_.apply(request_in(tail), header_of(merged).lowest_request);
  suspension_.apply(capture_requests_in(tail, tail_ranks_));
  if (word.lost_number != lost_number_ && is_between(word.first_rank, world_rank, word.last_rank))
    report_again(word);
  lost_number_ = word.lost_number;
}

void LivePayload::report_again(const ControlWord& word) {
  capture_.report_values_again(word.counters_from);
  if (word.has_lost_names == 0) return;
  capture_.report_again();
  shown_.forget_names();
}

void LivePayload::stop(const char* reason, std::uint32_t world_rank) {
  capture_requests_.clear();  // the other ranks do not receive requests any more
  suspension_.stop();
  requests_.stop(reason);
  capture_.notify("rank " + std::to_string(world_rank) + " stopped capturing: " + reason);
}

}  // namespace megascope::steps
