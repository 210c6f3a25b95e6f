#pragma once

#include "core/record/point.h"
#include "plugin/capture/capture_request.h"
#include "plugin/capture/rank_update.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace megascope::test {

/// What the only rank of a job writes that shows a tensor of this shape, if somebody wants it:
/// element i is i % 7.
struct ShownTensor {
  std::string_view name;
  TensorKind kind = TensorKind::kActvOut;
  std::int32_t layer = 0;
  std::vector<std::uint64_t> shape;  ///< at most kMaxTensorDimensions
  std::int64_t step = 0;
};
std::vector<std::byte> rank_update_of(const ShownTensor& tensor,
                                      const std::vector<capture::CaptureRequest>& capture_requests);

}  // namespace megascope::test
