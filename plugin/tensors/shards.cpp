#include "plugin/tensors/shards.h"

#include "core/base/hash.h"

#include <algorithm>

namespace megascope::tensors {
namespace {

constexpr std::string_view kDataParallel = "dp";
constexpr std::string_view kTensorParallel = "tp";

enum class Role { kPart, kCopy, kApart };

Role role_of(const ShardFacts& tensor, const ParallelIndex& dimension) {
  if (tensor.is_split && dimension.name == tensor.split_group) return Role::kPart;
  if (dimension.name != kDataParallel || is_of_model(tensor.kind)) return Role::kCopy;
  return tensor.kind == TensorKind::kGradUnreduced ? Role::kApart : Role::kPart;
}

}  // namespace

Layout Layout::of(std::vector<ParallelIndex> reported, std::int32_t world_rank,
                  std::int32_t world_size) {
  if (reported.empty()) reported.push_back({std::string(kTensorParallel), world_rank, world_size});
  std::ranges::sort(reported, {}, &ParallelIndex::name);
  return {std::move(reported), world_rank, world_size};
}

bool Layout::is_whole() const {
  std::int64_t product = 1;
  for (const ParallelIndex& dimension : dimensions)
    product = std::min<std::int64_t>(product * dimension.size, std::int64_t{1} << 31);
  return product == world_size;
}

std::uint64_t Layout::hash() const {
  std::uint64_t hash = 0;
  for (const ParallelIndex& dimension : dimensions) {
    hash = combined(combined(hash, hash_of(dimension.name)),
                    static_cast<std::uint64_t>(dimension.size));
  }
  return hash;
}

std::uint64_t Layout::place() const {
  std::uint64_t place = 0;
  for (const ParallelIndex& dimension : dimensions) {
    place = place * static_cast<std::uint64_t>(dimension.size) +
            static_cast<std::uint64_t>(dimension.index);
  }
  return place;
}

std::uint64_t hash_of_place(std::uint64_t place) { return combined(1, place); }

std::uint64_t sum_of_places(std::int32_t world_size) {
  std::uint64_t sum = 0;
  for (std::uint64_t place = 0; place < static_cast<std::uint64_t>(world_size); ++place)
    sum += hash_of_place(place);
  return sum;
}

bool is_of_model(TensorKind kind) {
  switch (kind) {
    case TensorKind::kWeight:
    case TensorKind::kWeightUpdated:
    case TensorKind::kGradReduced:
    case TensorKind::kExpAvg:
    case TensorKind::kExpAvgSq:
      return true;
    default:
      return false;
  }
}

std::vector<std::uint64_t> whole_shape(const TensorShape& shape, std::string_view split_group,
                                       const Layout& layout) {
  std::vector<std::uint64_t> extents(shape.extents.begin(),
                                     shape.extents.begin() + shape.dimension_count);
  if (shape.split_dimension < 0 ||
      static_cast<std::size_t>(shape.split_dimension) >= extents.size())
    return extents;
  const auto split = std::ranges::find(
      layout.dimensions, split_group.empty() ? kTensorParallel : split_group, &ParallelIndex::name);
  if (split != layout.dimensions.end())
    extents[static_cast<std::size_t>(shape.split_dimension)] *= static_cast<std::uint64_t>(
        split->size);
  return extents;
}

Shard shard_of(const ShardFacts& tensor, const Layout& layout) {
  Shard shard;
  bool has_split_group = false;
  std::uint64_t key = combined(hash_of(tensor.name),
                               static_cast<std::uint64_t>(static_cast<std::uint32_t>(tensor.layer))
                                       << 8 |
                                   static_cast<std::uint64_t>(tensor.kind));
  for (const ParallelIndex& dimension : layout.dimensions) {
    has_split_group = has_split_group || dimension.name == tensor.split_group;
    const auto index = static_cast<std::uint32_t>(dimension.index);
    const auto size = static_cast<std::uint32_t>(dimension.size);
    switch (role_of(tensor, dimension)) {
      case Role::kPart:
        shard.parts *= size;
        break;
      case Role::kCopy:
        shard.origin = shard.origin * size + index;
        break;
      case Role::kApart:
        key = combined(key, index + 1);
        shard.apart = dimension.name + " " + std::to_string(index);
        break;
    }
  }
  shard.key = not_zero(key);
  shard.is_known = has_split_group || !tensor.is_split;
  return shard;
}

}  // namespace megascope::tensors
