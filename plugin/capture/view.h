#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "plugin/capture/capture_request.h"
#include "plugin/capture/rank_update.h"
#include "plugin/tensors/shards.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Views of tensors: the data that a client displays, computed on the rank that holds the tensor.
namespace megascope::capture {

/// How a tensor is distributed over the ranks of its group: in equal parts, each in as many
/// stretches as the split dimension has blocks.
struct Spread {
  std::int32_t dimension = -1;     ///< the split dimension; -1: none
  std::uint64_t whole_extent = 0;  ///< global extent of the split dimension
  std::uint32_t parts = 1;
  std::uint32_t copy = 0;              ///< ViewPart::copy
  bool is_first_copy = true;           ///< false: another rank of the group sends the same data
  std::vector<PartStretch> stretches;  ///< where this rank's elements lie along the dimension
};
/// Computes the distribution. Returns nullopt if it cannot be determined; `problem` then says why.
std::optional<Spread> spread_of(const TensorView& tensor, const tensors::Layout& layout,
                                std::string& problem);

/// The same elements with all dimensions from `keep` on merged into one. keep == 0, or at least the
/// number of dimensions: unchanged. Returns nullopt (and sets `problem`) if these dimensions are
/// not contiguous, or if the tensor is split along one after the first of them.
std::optional<TensorView> flattened(const TensorView& tensor, std::uint32_t keep,
                                    std::string& problem);

/// This rank's part of the requested view, without capture request, key, step and time, which the
/// caller sets. Reads each element once. Returns nullopt if the view is too large; `problem` then
/// says so. Throws std::bad_alloc.
std::optional<ViewPart> make_part(const CaptureRequest& capture_request, const TensorView& tensor,
                                  const Spread& spread, std::string& problem);

}  // namespace megascope::capture
