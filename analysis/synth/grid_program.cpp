#include "analysis/synth/program.h"

#include <algorithm>

namespace megascope::synth {
namespace {

constexpr std::int32_t kForwardTag = 100;
constexpr std::int32_t kBackwardTag = 200;
constexpr std::uint64_t kTensorBytes = 1 << 20;
constexpr std::uint64_t kScalarBytes = 8;

/// Writes the step of one rank.
class GridStep {
 public:
  GridStep(const RunSpec& spec, const Layout& layout, std::int32_t rank)
      : spec_(spec), layout_(layout), at_(layout.coordinates(rank)) {}

  std::vector<Op> one_forward_one_backward() {
    const std::int32_t count = spec_.micro_batches;
    const std::int32_t warm_up = std::min(count, spec_.pp - at_.pp - 1);
    for (std::int32_t i = 0; i < warm_up; ++i) {
      receive(-1, kForwardTag);
      work(/*factor=*/1);
      send(+1, kForwardTag);
    }
    if (warm_up < count) receive(-1, kForwardTag);
    for (std::int32_t i = warm_up; i < count; ++i) {
      work(1);
      exchange(+1, kForwardTag, kBackwardTag);
      work(2);
      if (i + 1 < count)
        exchange(-1, kBackwardTag, kForwardTag);
      else
        send(-1, kBackwardTag);
    }
    for (std::int32_t i = 0; i < warm_up; ++i) {
      receive(+1, kBackwardTag);
      work(2);
      send(-1, kBackwardTag);
    }
    end_of_step();
    return std::move(ops_);
  }

  /// As Megatron orders it: chunks in turn, pp micro-batches each. Sends are buffered and waited
  /// for at the end.
  std::vector<Op> interleaved() {
    const std::int32_t total = spec_.micro_batches * spec_.chunks;
    const std::int32_t warm_up = std::min(
        total, (spec_.pp - at_.pp - 1) * 2 + (spec_.chunks - 1) * spec_.pp);
    for (std::int32_t i = 0; i < warm_up; ++i) forward(i);
    for (std::int32_t i = warm_up; i < total; ++i) {
      forward(i);
      backward(i - warm_up);
    }
    for (std::int32_t i = total - warm_up; i < total; ++i) backward(i);
    ops_.push_back({.kind = OpKind::kWaitall});
    end_of_step();
    return std::move(ops_);
  }

 private:
  bool has_stage(std::int32_t offset) const {
    return at_.pp + offset >= 0 && at_.pp + offset < spec_.pp;
  }

  void message(OpKind kind, std::int32_t stage, std::int32_t tag) {
    Coordinates to = at_;
    to.pp = stage;
    ops_.push_back({.kind = kind,
                    .comm = CommRole::kPipeline,
                    .peer = stage,
                    .peer_world = layout_.rank_of(to),
                    .tag = tag,
                    .amount = spec_.message_bytes});
  }
  void receive(std::int32_t offset, std::int32_t tag) {
    if (has_stage(offset)) message(OpKind::kRecv, at_.pp + offset, tag);
  }
  void send(std::int32_t offset, std::int32_t tag) {
    if (has_stage(offset)) message(OpKind::kSend, at_.pp + offset, tag);
  }
  void exchange(std::int32_t offset, std::int32_t send_tag, std::int32_t receive_tag) {
    if (!has_stage(offset)) return;
    message(OpKind::kIsend, at_.pp + offset, send_tag);
    message(OpKind::kIrecv, at_.pp + offset, receive_tag);
    ops_.push_back({.kind = OpKind::kWaitall});
  }

  /// A micro-batch through this rank's layers: two reductions over the tensor group a layer.
  void work(std::int32_t factor) {
    const std::uint64_t work_unit_ns = spec_.work_unit_ns * static_cast<std::uint64_t>(factor);
    const std::int32_t work_units = 2 * spec_.layers;
    if (spec_.tp == 1) {
      ops_.push_back({.kind = OpKind::kWork,
                      .work_units = work_units,
                      .amount = work_unit_ns * static_cast<std::uint64_t>(work_units)});
      return;
    }
    for (std::int32_t i = 0; i < work_units; ++i) {
      ops_.push_back({.kind = OpKind::kWork, .amount = work_unit_ns});
      reduce(CommRole::kTensor, kTensorBytes);
    }
  }

  void forward(std::int32_t index) {
    const std::int32_t chunk = index / spec_.pp % spec_.chunks;
    const bool is_first = at_.pp == 0 && chunk == 0;
    const bool is_last = at_.pp == spec_.pp - 1 && chunk == spec_.chunks - 1;
    if (!is_first) message(OpKind::kRecv, (at_.pp + spec_.pp - 1) % spec_.pp, kForwardTag + chunk);
    work(1);
    const std::int32_t next_chunk = at_.pp == spec_.pp - 1 ? chunk + 1 : chunk;
    if (!is_last) message(OpKind::kIsend, (at_.pp + 1) % spec_.pp, kForwardTag + next_chunk);
  }
  void backward(std::int32_t index) {
    const std::int32_t chunk = spec_.chunks - 1 - index / spec_.pp % spec_.chunks;
    const bool is_first = at_.pp == spec_.pp - 1 && chunk == spec_.chunks - 1;
    const bool is_last = at_.pp == 0 && chunk == 0;
    if (!is_first) message(OpKind::kRecv, (at_.pp + 1) % spec_.pp, kBackwardTag + chunk);
    work(2);
    const std::int32_t next_chunk = at_.pp == 0 ? chunk - 1 : chunk;
    if (!is_last)
      message(OpKind::kIsend, (at_.pp + spec_.pp - 1) % spec_.pp, kBackwardTag + next_chunk);
  }

  void reduce(CommRole role, std::uint64_t bytes) {
    if (layout_.comm_id(role) != kNoComm)
      ops_.push_back({.kind = OpKind::kAllreduce, .comm = role, .amount = bytes});
  }

  /// Mean of the loss, gradients over the replicas, their norm over the model, the optimizer.
  void end_of_step() {
    if (at_.pp == spec_.pp - 1) reduce(CommRole::kData, kScalarBytes);
    reduce(CommRole::kData, spec_.gradient_bytes);
    reduce(CommRole::kModel, kScalarBytes);
    ops_.push_back({.kind = OpKind::kWork, .work_units = 4, .amount = spec_.work_unit_ns * 4});
  }

  const RunSpec& spec_;
  const Layout& layout_;
  Coordinates at_;
  std::vector<Op> ops_;
};

}  // namespace

std::vector<Op> grid_step(const RunSpec& spec, const Layout& layout, std::int32_t rank) {
  GridStep step(spec, layout, rank);
  return spec.pattern == Pattern::kInterleaved && spec.pp > 1 ? step.interleaved()
                                                              : step.one_forward_one_backward();
}

}  // namespace megascope::synth
