#pragma once

#include "core/lifecycle/tensor_sink.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Which ranks hold parts of a tensor and which hold copies.
namespace megascope::tensors {

/// The parallel groups (grid coordinates) that one rank annotated.
struct Layout {
  std::vector<ParallelIndex> dimensions;  ///< sorted by name
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;

  /// Makes a layout. Without any dimension, all ranks form one group "tp".
  static Layout of(std::vector<ParallelIndex> reported, std::int32_t world_rank,
                   std::int32_t world_size);
  /// Whether the product of the sizes equals world_size.
  bool is_whole() const;
  /// Hash of the names and sizes: equal on ranks with the same groups.
  std::uint64_t hash() const;
  /// The rank's linear index in the grid, 0 … product of the sizes - 1.
  std::uint64_t place() const;
};

/// Hash of a grid index, and the sum of these hashes over the grid of a world. The sum over all
/// ranks equals sum_of_places() if each index is held exactly once.
std::uint64_t hash_of_place(std::uint64_t place);
std::uint64_t sum_of_places(std::int32_t world_size);

/// Description of a tensor for shard_of().
struct ShardFacts {
  std::string_view name;
  std::int32_t layer = kNoLayer;
  TensorKind kind = TensorKind::kOther;
  bool is_split = false;
  std::string_view split_group{};  ///< dimension of the layout along which it is split
};

/// How a rank's tensor belongs to the global tensor.
struct Shard {
  std::uint64_t key = 0;     ///< equal for all parts and copies of the same global tensor; never 0
  std::uint32_t origin = 0;  ///< which copy this rank's part belongs to
  std::uint32_t parts = 1;   ///< number of ranks that hold a part of one copy
  /// The member of the group whose members are kept separate: "dp 1"; empty: none.
  std::string apart;
  bool is_known = true;  ///< false: split along a dimension that was not annotated
};
/// Roles of ranks, by dimension of the layout:
/// - the dimension along which the tensor is split: parts;
/// - "dp": copies of weights, reduced gradients and optimizer state; separate tensors for gradients
///   that are not reduced yet; parts of everything else (each replica has data of its own);
/// - any other dimension: copies, or other tensors.
Shard shard_of(const ShardFacts& tensor, const Layout& layout);

/// Extents of the global tensor, assuming that all ranks of the split group have equal parts.
/// split_group: empty means "tp".
std::vector<std::uint64_t> whole_shape(const TensorShape& shape, std::string_view split_group,
                                       const Layout& layout);

/// Whether the kind is identical in all replicas: weights, reduced gradients, optimizer state.
bool is_of_model(TensorKind kind);

}  // namespace megascope::tensors
