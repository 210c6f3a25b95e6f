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

  /// Returns a layout with the dimensions `reported`. If `reported` is empty, all ranks form one
  /// group "tp".
  static Layout of(std::vector<ParallelIndex> reported, std::int32_t world_rank,
                   std::int32_t world_size);
  /// Whether the product of the sizes equals world_size.
  bool is_whole() const;
  /// Returns a hash of the names and sizes of the dimensions. Ranks with the same groups have the
  /// same hash.
  std::uint64_t hash() const;
  /// Returns the rank's linear index in the grid. It is less than the product of the sizes.
  std::uint64_t place() const;
};

/// Returns the hash of a rank's linear index in the grid (Layout::place()).
std::uint64_t hash_of_place(std::uint64_t place);
/// Returns the sum of hash_of_place() over the indices 0 … world_size - 1. The sum of the hashes of
/// all ranks equals this value if each index belongs to exactly one rank.
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
  std::uint32_t origin = 0;  ///< number of the copy that this rank's part belongs to
  std::uint32_t parts = 1;   ///< number of ranks that hold a part of one copy
  /// This rank's coordinate in the group whose members hold separate tensors, e.g. "dp 1". Empty if
  /// there is no such group.
  std::string apart;
  bool is_known = true;  ///< false: split along a dimension that was not annotated
};
/// Returns how this rank's tensor belongs to the global tensor. Each dimension of the layout
/// determines what the ranks that differ in this dimension hold:
/// - The dimension along which the tensor is split: parts of one copy.
/// - "dp", for weights, reduced gradients and optimizer state (is_of_model()): copies.
/// - "dp", for gradients that are not reduced yet: separate tensors with different keys.
/// - "dp", for all other kinds: parts, because each replica has data of its own.
/// - Any other dimension: copies. Ranks with other layers show tensors with other keys.
Shard shard_of(const ShardFacts& tensor, const Layout& layout);

/// Extents of the global tensor, assuming that all ranks of the split group have equal parts.
/// split_group: empty means "tp".
std::vector<std::uint64_t> whole_shape(const TensorShape& shape, std::string_view split_group,
                                       const Layout& layout);

/// Whether the kind is identical in all replicas: weights, reduced gradients, optimizer state.
bool is_of_model(TensorKind kind);

}  // namespace megascope::tensors
