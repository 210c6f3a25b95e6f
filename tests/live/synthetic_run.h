#pragma once

#include "core/lifecycle/live_server.h"
#include "plugin/capture/capture_request.h"
#include "plugin/capture/rank_update.h"
#include "plugin/steps/step_block.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::test {

/// What a transformer would tell that trains on ranks which halve its layers (pp 2) and each layer
/// (tp), synthetic: the same in each run.
class SyntheticRun {
 public:
  struct Shape {
    std::int32_t ranks = 4;  ///< even
    std::int32_t layers = 12;
    std::uint64_t tokens = 256;
    std::uint64_t width = 768;  ///< of each tensor's last dimension
    float gain = 1.0F;          ///< views of tensors are so many times element()
  };
  explicit SyntheticRun(const Shape& shape) : shape_(shape) {}

  std::vector<LiveRank> ranks() const;
  /// What all ranks say of a step. has_statistics: of the tensors that are wanted, else of none.
  std::vector<std::byte> block(std::int64_t step, std::int64_t begin_ns,
                               const std::vector<capture::CaptureRequest>& capture_requests) const;
  /// What a rank writes of a step: names the first time, then what is wanted.
  std::vector<std::byte> rank_update(std::int32_t rank, std::int64_t step, std::int64_t now_ns,
                                     const std::vector<capture::CaptureRequest>& capture_requests,
                                     bool has_names) const;

  /// An element of a tensor of `family` (0: qkv, 1: mlp1, 2: mlp2, 3: hidden); NaN and infinite
  /// where step % 50 is 49 and 48.
  static float element(std::int64_t step, std::size_t family, std::int32_t layer,
                       std::uint64_t token, std::uint64_t feature);
  static double loss(std::int64_t step);
  static steps::RankTimes times(std::int64_t step, std::int32_t rank);

 private:
  std::int32_t shards() const { return shape_.ranks / 2; }
  capture::TensorName name_of(std::size_t family, std::int32_t layer) const;
  void add_names(capture::RankUpdateWriter& rank_update, std::int32_t rank) const;
  void add_counters(capture::RankUpdateWriter& rank_update, std::int32_t rank,
                    std::int64_t step) const;
  capture::ViewPart tiles(const capture::CaptureRequest& capture_request, std::size_t family,
                          std::int32_t layer, std::int32_t rank, std::int64_t step) const;
  capture::ViewPart whole(const capture::CaptureRequest& capture_request, std::size_t family,
                          std::int32_t layer, std::int32_t rank, std::int64_t step) const;
  steps::TensorSlot statistics(std::size_t family, std::int32_t layer, std::int64_t step) const;

  Shape shape_;
};

}  // namespace megascope::test
