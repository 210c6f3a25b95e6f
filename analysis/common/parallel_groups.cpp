#include "analysis/common/parallel_groups.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

struct Dimension {
  std::map<std::int32_t, std::int32_t>
      first_of_size;  ///< annotated size → lowest rank that annotated it
  std::vector<std::int32_t> indices;
};

std::string sizes_text(const Dimension& dimension) {
  std::string text;
  for (const auto& [size, rank] : dimension.first_of_size) {
    text += (text.empty() ? "" : ", ") + std::to_string(size) + " (rank " + std::to_string(rank) +
            ")";
  }
  return text;
}

/// Does each combination of coordinates occur, and equally often?
bool divide_evenly(const ParallelGroups& groups, std::size_t rank_count, std::int64_t product) {
  std::map<std::vector<std::int32_t>, std::size_t> counts;
  for (std::size_t i = 0; i < rank_count; ++i) {
    std::vector<std::int32_t> place;
    for (const auto& [name, indices] : groups.indices) place.push_back(indices[i]);
    ++counts[place];
  }
  const auto wanted = static_cast<std::size_t>(product);
  return counts.size() == wanted && rank_count % wanted == 0 &&
         std::ranges::all_of(
             counts, [&](const auto& count) { return count.second == rank_count / wanted; });
}

}  // namespace

ParallelGroups parallel_groups(const RecordSource& source) {
  std::map<std::string, Dimension> dimensions;
  for (const std::int32_t rank : source.world_ranks()) {
    for (const ParallelIndex& place : source.process(rank).info.parallel) {
      Dimension& dimension = dimensions[place.name];
      dimension.first_of_size.try_emplace(place.size, rank);
      dimension.indices.push_back(place.index);
    }
  }
  ParallelGroups groups;
  const std::size_t rank_count = source.world_ranks().size();
  std::int64_t product = 1;
  std::string shape;
  for (auto& [name, dimension] : dimensions) {
    if (dimension.first_of_size.size() > 1) {
      groups.problems.push_back("the parallel group " + name +
                                " is ignored: ranks specify different sizes of it, " +
                                sizes_text(dimension));
      continue;
    }
    if (dimension.indices.size() != rank_count) {
      groups.problems.push_back("the parallel group " + name +
                                " is ignored: " + std::to_string(dimension.indices.size()) +
                                " of " + std::to_string(rank_count) +
                                " ranks specify their coordinate in it");
      continue;
    }
    const std::int32_t size = dimension.first_of_size.begin()->first;
    if (size < 2) continue;
    shape += (shape.empty() ? "" : " x ") + name + " " + std::to_string(size);
    product = std::min<std::int64_t>(product * size, std::int64_t{1} << 31);
    groups.indices[name] = std::move(dimension.indices);
  }
  const bool is_whole = rank_count == static_cast<std::size_t>(source.world_size());
  if (groups.indices.empty() || !is_whole || divide_evenly(groups, rank_count, product))
    return groups;
  groups.indices.clear();
  groups.problems.push_back("the parallel groups are ignored: " + shape + " does not divide " +
                            std::to_string(rank_count) + " ranks evenly");
  return groups;
}

}  // namespace megascope::analysis
