#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "plugin/tensors/letter.h"
#include "plugin/tensors/shards.h"
#include "plugin/tensors/wish.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Views of tensors: what a client sees of one, computed where the tensor is.
namespace megascope::tensors {

/// How the ranks of its group have a tensor: in equal parts, each in as many stretches as the
/// dimension has blocks.
struct Spread {
  std::int32_t dimension = -1;     ///< that is split; -1: none
  std::uint64_t whole_extent = 0;  ///< of it
  std::uint32_t parts = 1;
  std::uint32_t copy = 0;              ///< ViewPart::copy
  bool is_first_copy = true;           ///< false: another rank of the group tells the same
  std::vector<PartStretch> stretches;  ///< of this rank's tensor along the dimension
};
/// Nothing: `problem` says why it can't be known.
std::optional<Spread> spread_of(const TensorView& tensor, const Layout& layout,
                                std::string& problem);

/// The same elements, with all dimensions from `keep` on as one; 0, or as many as there are: as it
/// is. Nothing: they do not lie one behind the other, or it is split along a later one of them.
std::optional<TensorView> flattened(const TensorView& tensor, std::uint32_t keep,
                                    std::string& problem);

/// This rank's part of the view that the wish asks for, without wish, key, step and time. Reads
/// each element once. Nothing: `problem` says why there is none. Throws std::bad_alloc.
std::optional<ViewPart> make_part(const Wish& wish, const TensorView& tensor, const Spread& spread,
                                  std::string& problem);

}  // namespace megascope::tensors
