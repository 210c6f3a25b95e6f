#pragma once

#include "core/lifecycle/live_server.h"
#include "core/lifecycle/tensor_sink.h"
#include "plugin/capture/capture_request.h"
#include "plugin/capture/rank_update.h"
#include "plugin/tensors/shards.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::test {

/// The tensors of a transformer on 4 ranks (pp 2, tp 2), in the shapes that the example GPT shows,
/// synthetic; views of them are made as in a job.
class SyntheticTransformer {
 public:
  static constexpr std::int32_t kRanks = 4;
  static constexpr std::int32_t kLayers = 4;
  static constexpr std::uint64_t kGroups = 4;
  static constexpr std::uint64_t kQueries = 2;  ///< of a group
  static constexpr std::uint64_t kSize = 5;     ///< of a head
  static constexpr std::uint64_t kHidden = kGroups * kQueries * kSize;
  static constexpr std::uint64_t kInner = 52;  ///< of the MLP

  /// An element by its number in the whole tensor; `family`: 0 qkv, 1 scores, 2 context, 3
  /// attention.output, 4 mlp1, 5 mlp2, 6 hidden, 7 tokens.
  static float element(std::int64_t step, std::size_t family, std::int32_t layer,
                       std::uint64_t index) {
    const auto at = static_cast<std::uint64_t>(step) * 7 + family * 31 +
                    static_cast<std::uint64_t>(layer) * 13 + index * 17;
    return static_cast<float>(at % 101) / 8.0F - 6.0F;
  }
  static std::vector<LiveRank> ranks();
  /// What a rank writes of a step in which it computed so many sequences and tokens.
  static std::vector<std::byte> rank_update(
      std::int32_t rank, std::int64_t step, std::uint64_t sequences, std::uint64_t tokens,
      const std::vector<capture::CaptureRequest>& capture_requests,
      capture::RankUpdateWriter writer);
};

}  // namespace megascope::test
