#include "analysis/synth/program.h"

namespace megascope::synth {
namespace {

constexpr std::int32_t kHaloTag = 7;
constexpr std::uint64_t kResidualBytes = 8;

}  // namespace

/// Neighbours of a periodic grid; a direction in which the grid is one or two ranks wide has none
/// or one.
std::vector<Op> halo_step(const RunSpec& spec, std::int32_t rank) {
  const std::int32_t x = rank % spec.grid_x;
  const std::int32_t y = rank / spec.grid_x;
  struct Direction {
    std::int32_t peer;
    std::int32_t send_tag;
    std::int32_t receive_tag;
  };
  std::vector<Direction> directions;
  const auto add = [&](std::int32_t dx, std::int32_t dy, std::int32_t index) {
    const std::int32_t peer = (x + dx + spec.grid_x) % spec.grid_x +
                              (y + dy + spec.grid_y) % spec.grid_y * spec.grid_x;
    if (peer != rank) directions.push_back({peer, kHaloTag + index, kHaloTag + (index ^ 1)});
  };
  add(+1, 0, 0);
  if (spec.grid_x > 2) add(-1, 0, 1);
  add(0, +1, 2);
  if (spec.grid_y > 2) add(0, -1, 3);
  if (spec.grid_x == 2) directions[0].send_tag = directions[0].receive_tag = kHaloTag;
  if (spec.grid_y == 2) directions.back().send_tag = directions.back().receive_tag = kHaloTag + 2;

  std::vector<Op> ops;
  for (std::int32_t sweep = 0; sweep < spec.sweeps; ++sweep) {
    for (const Direction& to : directions) {
      ops.push_back({.kind = OpKind::kIrecv,
                     .peer = to.peer,
                     .peer_world = to.peer,
                     .tag = to.receive_tag,
                     .amount = spec.message_bytes});
    }
    for (const Direction& to : directions) {
      ops.push_back({.kind = OpKind::kIsend,
                     .peer = to.peer,
                     .peer_world = to.peer,
                     .tag = to.send_tag,
                     .amount = spec.message_bytes});
    }
    ops.push_back({.kind = OpKind::kWork, .work_units = 2, .amount = spec.work_unit_ns * 2});
    ops.push_back({.kind = OpKind::kWaitall});
    ops.push_back({.kind = OpKind::kWork, .work_units = 2, .amount = spec.work_unit_ns * 2});
  }
  ops.push_back({.kind = OpKind::kAllreduce, .amount = kResidualBytes});
  return ops;
}

}  // namespace megascope::synth
