#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Which ranks' parts of a tensor make the whole, and which are copies.
namespace megascope::tensors {

/// The parallel groups as one rank told them.
struct Layout {
  std::vector<ParallelIndex> dimensions;  ///< ascending name
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;

  /// Without any dimension all ranks are one group "tp".
  static Layout of(std::vector<ParallelIndex> told, std::int32_t world_rank,
                   std::int32_t world_size);
  /// Is the product of the sizes the world's?
  bool is_whole() const;
  /// Equal where names and sizes are.
  std::uint64_t hash() const;
  /// The rank's number in the layout, 0 … product of the sizes - 1.
  std::uint64_t place() const;
};

/// A hash of a place, and the sum of all places' of a world: equal to the sum over ranks if each
/// place is held once.
std::uint64_t hash_of_place(std::uint64_t place);
std::uint64_t sum_of_places(std::int32_t world_size);

/// What a tensor is to whom.
struct ShardFacts {
  std::string_view name;
  std::int32_t layer = kNoLayer;
  TensorKind kind = TensorKind::kOther;
  bool is_split = false;
  std::string_view split_group{};  ///< dimension of the layout along which it is split
};

/// How a rank's part goes into the whole.
struct Shard {
  std::uint64_t key = 0;     ///< equal for parts and copies of the same; not 0
  std::uint32_t origin = 0;  ///< which copy this is a part of
  std::uint32_t parts = 1;   ///< ranks that hold a part of it
  std::string apart;     ///< the group whose members are told apart, and which of them this is: "dp
                         ///< 1"; empty: none
  bool is_known = true;  ///< false: it is split along a dimension that nobody told
};
/// Ranks along the dimension that it is split along hold parts. Ranks along "dp" hold copies of
/// weights, reduced gradients and the optimizer's state, gradients of their own where these are not
/// reduced yet (told apart), and parts of all else: each has data of its own. Ranks along any other
/// dimension hold copies, or other tensors.
Shard shard_of(const ShardFacts& tensor, const Layout& layout);

/// Extents of the whole tensor, if all ranks along its split group have equal parts. split_group:
/// empty: "tp".
std::vector<std::uint64_t> whole_shape(const TensorShape& shape, std::string_view split_group,
                                       const Layout& layout);

/// Is it the same in all replicas of the model: weights, reduced gradients, the optimizer's state?
bool is_of_model(TensorKind kind);

}  // namespace megascope::tensors
