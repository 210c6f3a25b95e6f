#include "analysis/import/parallel_grid.h"

#include <algorithm>
#include <charconv>

namespace megascope::importer {
namespace {

constexpr std::int32_t kMaxRanks = 1 << 24;

std::vector<std::string> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (separators.find(c) != std::string_view::npos)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

bool read_size(const std::string& text, std::int32_t& size) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  return error == std::errc{} && end == text.data() + text.size() && size >= 1 && size <= kMaxRanks;
}

}  // namespace

std::int32_t& ParallelGrid::coordinate(GridCoordinates& coordinates, std::size_t dimension) {
  return dimension == 0 ? coordinates.tp : dimension == 1 ? coordinates.dp : coordinates.pp;
}

Status ParallelGrid::parse(std::string_view text, ParallelGrid& grid) {
  grid = {};
  for (const std::string& word : words_of(text, ",+:")) {
    const std::size_t at = word.find('=');
    const std::string name = word.substr(0, at);
    const std::string value = at == std::string::npos ? "" : word.substr(at + 1);
    const auto known = std::find(kNames.begin(), kNames.end(), name);
    if (known != kNames.end() &&
        read_size(value, grid.sizes_[static_cast<std::size_t>(known - kNames.begin())]))
      continue;
    const std::vector<std::string> order = words_of(value, "-");
    const bool is_order = name == "order" && order.size() == kNames.size() &&
                          std::is_permutation(order.begin(), order.end(), kNames.begin(),
                                              [](const auto& a, const auto& b) {
                                                return std::string_view(a) == b;
                                              });
    if (!is_order)
      return Status::error("cannot read \"" + word +
                           "\" in the parallel sizes; example: tp=4,pp=4,dp=4,order=tp-dp-pp");
    for (std::size_t i = 0; i < order.size(); ++i) {
      grid.order_[i] = static_cast<std::size_t>(std::find(kNames.begin(), kNames.end(), order[i]) -
                                                kNames.begin());
    }
  }
  return grid.check();
}

Status ParallelGrid::check() const {
  std::int64_t ranks = 1;
  for (const std::int32_t size : sizes_) {
    ranks *= size;
    if (ranks > kMaxRanks)
      return Status::error("the parallel sizes result in more than 2^24 ranks");
  }
  return Status::ok();
}

Status ParallelGrid::around(Timeline& timeline, ParallelGrid& grid) {
  grid = {};
  GridCoordinates specified = timeline.sizes;
  for (std::size_t i = 0; i < grid.sizes_.size(); ++i)
    grid.sizes_[i] = std::max(coordinate(specified, i), 1);
  for (const Track& track : timeline.tracks) {
    GridCoordinates coordinates = track.coordinates;
    if (std::max({coordinates.dp, coordinates.pp, coordinates.tp, coordinates.rank}) >= kMaxRanks) {
      return Status::error("track \"" + track.stream +
                           "\" has a rank beyond 2^24: its numbers are not ranks");
    }
    for (std::size_t i = 0; i < grid.sizes_.size(); ++i)
      grid.sizes_[i] = std::max(grid.sizes_[i], coordinate(coordinates, i) + 1);
  }
  for (const Track& track : timeline.tracks) {  // ranks alone are replicas
    if (track.coordinates.rank >= grid.size()) grid.sizes_[1] = track.coordinates.rank + 1;
    const Status status = grid.check();
    if (!status.is_ok()) return status;
  }
  const Status status = grid.check();
  if (status.is_ok() && !grid.find_order(timeline))
    timeline.notes.emplace_back(
        "the grid coordinates of the workers match their ranks in no order of the dimensions: "
        "ranks were renumbered, tp first, then dp, then pp");
  return status;
}

bool ParallelGrid::find_order(const Timeline& timeline) {
  const std::array<std::size_t, 3> usual = order_;
  do {
    const auto is_explained = [this](const Track& track) {
      return track.world_rank == kUnknown || track.coordinates.rank != kUnknown ||
             rank_of(track.coordinates) == track.world_rank;
    };
    if (std::all_of(timeline.tracks.begin(), timeline.tracks.end(), is_explained)) return true;
  } while (std::next_permutation(order_.begin(), order_.end()));
  order_ = usual;
  return false;
}

std::int32_t ParallelGrid::rank_of(const GridCoordinates& coordinates) const {
  if (coordinates.rank != kUnknown) return coordinates.rank;
  GridCoordinates from = coordinates;
  std::int32_t rank = 0;
  std::int32_t stride = 1;
  for (const std::size_t dimension : order_) {
    rank += std::max(coordinate(from, dimension), 0) * stride;
    stride *= sizes_[dimension];
  }
  return rank;
}

GridCoordinates ParallelGrid::coordinates_of(std::int32_t rank) const {
  GridCoordinates coordinates;
  for (const std::size_t dimension : order_) {
    coordinate(coordinates, dimension) = rank % sizes_[dimension];
    rank /= sizes_[dimension];
  }
  return coordinates;
}

bool ParallelGrid::contains(const GridCoordinates& coordinates) const {
  if (coordinates.rank != kUnknown) return coordinates.rank >= 0 && coordinates.rank < size();
  GridCoordinates from = coordinates;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (coordinate(from, i) >= sizes_[i]) return false;
  }
  return true;
}

std::vector<ParallelIndex> ParallelGrid::indices_of(const GridCoordinates& coordinates) const {
  GridCoordinates from = coordinates;
  std::vector<ParallelIndex> indices;
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    indices.push_back({kNames[i], coordinate(from, i), sizes_[i]});
  return indices;
}

std::vector<std::int32_t> ParallelGrid::members(const std::string& over,
                                                const GridCoordinates& coordinates) const {
  std::vector<std::int32_t> ranks;
  if (over == "world") {
    for (std::int32_t rank = 0; rank < size(); ++rank) ranks.push_back(rank);
    return ranks;
  }
  const bool is_ends = over == "pp ends";
  const std::size_t dimension = dimension_of(over);
  const std::int32_t last = sizes_[dimension] - 1;
  GridCoordinates member = coordinates;
  const std::int32_t own = coordinate(member, dimension);
  if (is_ends && own != 0 && own != last) return {};
  for (std::int32_t i = 0; i <= last; ++i) {
    if (is_ends && i != 0 && i != last) continue;
    coordinate(member, dimension) = i;
    ranks.push_back(rank_of(member));
  }
  return ranks;
}

std::size_t ParallelGrid::dimension_of(const std::string& over) {
  const std::string_view name = over == "pp ends" ? std::string_view("pp") : over;
  return static_cast<std::size_t>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
}

std::int32_t ParallelGrid::first_member(const std::string& over,
                                        const GridCoordinates& coordinates) const {
  if (over == "world") return 0;
  const std::size_t dimension = dimension_of(over);
  GridCoordinates member = coordinates;
  std::int32_t& at = coordinate(member, dimension);
  if (over == "pp ends" && at != 0 && at != sizes_[dimension] - 1) return -1;
  at = 0;
  return rank_of(member);
}

std::int32_t ParallelGrid::index_in(const std::string& over,
                                    const GridCoordinates& coordinates) const {
  GridCoordinates own = coordinates;
  const std::int32_t index = coordinate(own, dimension_of(over));
  return over == "pp ends" ? std::min(index, 1) : index;
}

std::int32_t ParallelGrid::neighbour(const std::string& over, const GridCoordinates& coordinates,
                                     std::int32_t distance) const {
  const std::int64_t index = std::int64_t{index_in(over, coordinates)} + distance;
  return index < 0 || index >= sizes_[dimension_of(over)] ? -1 : static_cast<std::int32_t>(index);
}

}  // namespace megascope::importer
