#include "exporters/megascan/coordinates.h"

#include "exporters/common/joint_file.h"

#include <algorithm>
#include <cstring>

namespace megascope::megascan {
namespace {

constexpr std::array<const char*, 3> kNames{"dp", "pp", "tp"};

/// A rank's coordinates, as exchanged between members.
struct Taken {
  std::array<std::int32_t, 3> index{};
  std::int32_t world_rank = 0;

  auto operator<=>(const Taken&) const = default;
};

Collective::Bytes bytes_of(const std::vector<Taken>& all) {
  Collective::Bytes bytes(all.size() * sizeof(Taken));
  if (!all.empty()) std::memcpy(bytes.data(), all.data(), bytes.size());
  return bytes;
}

std::vector<Taken> from(const Collective::Bytes& bytes) {
  std::vector<Taken> all(bytes.size() / sizeof(Taken));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

std::string text_of(const std::array<std::int32_t, 3>& index) {
  std::string text;
  for (std::size_t i = 0; i < index.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::string(kNames[i]) + " " + std::to_string(index[i]);
  return text;
}

Status check_no_coordinates_is_taken_twice(Collective& members, const std::vector<Taken>& mine) {
  Collective::Bytes bytes = bytes_of(mine);
  Status status = members.merge_all(bytes,
                                    [](Collective::Bytes& all, std::span<const std::byte> other) {
                                      all.insert(all.end(), other.begin(), other.end());
                                    });
  if (!status.is_ok()) return status;
  std::vector<Taken> all = from(bytes);
  std::ranges::sort(all);
  const auto twice = std::ranges::adjacent_find(all, {}, &Taken::index);
  if (twice == all.end()) return Status::ok();
  return Status::error("ranks " + std::to_string(twice->world_rank) + " and " +
                       std::to_string((twice + 1)->world_rank) + " have the same coordinates (" +
                       text_of(twice->index) + "), and MegaScan's files have no other dimension");
}

}  // namespace

Status coordinates_of(const ProcessInfo& info, GridCoordinates& coordinates) {
  coordinates = {};
  bool is_known = false;
  for (const ParallelIndex& parallel : info.parallel) {
    const auto name = std::ranges::find(kNames, parallel.name);
    if (name == kNames.end()) continue;
    const auto at = static_cast<std::size_t>(name - kNames.begin());
    coordinates.index[at] = parallel.index;
    coordinates.size[at] = parallel.size;
    is_known = true;
  }
  if (is_known) return Status::ok();
  return Status::error(
      "rank " + std::to_string(info.world_rank) +
      " has no coordinates in parallel groups, which MegaScan's file names need; specify "
      "their sizes, e.g. --parallel tp=2,pp=2,dp=2");
}

std::string file_name(const GridCoordinates& coordinates) {
  return "benchmark-data-" + std::to_string(coordinates.index[0]) + "-pipeline-" +
         std::to_string(coordinates.index[1]) + "-tensor-" + std::to_string(coordinates.index[2]) +
         ".json";
}

Status find_coordinates(const RecordSource& source, Collective& members,
                        std::vector<GridCoordinates>& coordinates) {
  Status status;
  std::vector<Taken> taken;
  for (const std::int32_t rank : source.world_ranks()) {
    GridCoordinates coordinates;
    status.update(coordinates_of(source.process(rank).info, coordinates));
    coordinates.push_back(coordinates);
    taken.push_back({coordinates.index, rank});
  }
  status = timeline::agree(members, std::move(status));
  return status.is_ok() ? check_no_coordinates_is_taken_twice(members, taken) : status;
}

}  // namespace megascope::megascan
