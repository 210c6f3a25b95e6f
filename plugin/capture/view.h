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

/// How a tensor is distributed over the ranks of its group. Each rank holds an equal part. If the
/// split dimension consists of several blocks, each rank holds a stretch of every block.
struct Spread {
  std::int32_t dimension = -1;     ///< the split dimension; -1: the tensor is not split
  std::uint64_t whole_extent = 0;  ///< global extent of the split dimension
  std::uint32_t parts = 1;
  std::uint32_t copy = 0;              ///< ViewPart::copy
  bool is_first_copy = true;           ///< false: another rank holds the same data and sends it
  std::vector<PartStretch> stretches;  ///< where this rank's elements lie along the dimension
};
/// Computes the distribution. Returns nullopt if it cannot be determined; `problem` then says why.
std::optional<Spread> spread_of(const TensorView& tensor, const tensors::Layout& layout,
                                std::string& problem);

/// Returns a view of the same elements in which all dimensions from index `keep` on are merged into
/// one. Returns the tensor unchanged if `keep` is 0 or if fewer than two dimensions would be
/// merged. On error returns nullopt and sets `problem`: the dimensions to merge are not contiguous,
/// the tensor is split along one of them other than the first, or the blocks do not divide the
/// split dimension.
std::optional<TensorView> flattened(const TensorView& tensor, std::uint32_t keep,
                                    std::string& problem);

/// Returns this rank's part of the requested view. The caller sets the part's capture request, key,
/// step, replica and time. Reads each element once. If the view is too large, returns nullopt and
/// sets `problem`. Throws std::bad_alloc.
std::optional<ViewPart> make_part(const CaptureRequest& capture_request, const TensorView& tensor,
                                  const Spread& spread, std::string& problem);

}  // namespace megascope::capture
