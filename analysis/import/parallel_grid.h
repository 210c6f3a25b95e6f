#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"
#include "core/record/definitions.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::importer {

/// How the ranks of a job are laid out: dp × pp × tp workers, and which dimension changes fastest
/// with the rank.
class ParallelGrid {
 public:
  /// text: "tp=4,pp=4,dp=4" with `,` `+` or `:`; dimensions that are left out have size 1;
  /// "order=tp-dp-pp" (the default) names the fastest first.
  static Status parse(std::string_view text, ParallelGrid& grid);
  /// As large as the places of the timeline need it, or as it tells, with the order that its ranks
  /// show. An error: that would be more ranks than there can be. Where no order explains the ranks,
  /// the timeline gets a note: they are numbered anew.
  static Status around(Timeline& timeline, ParallelGrid& grid);

  std::int32_t size() const { return sizes_[0] * sizes_[1] * sizes_[2]; }
  std::int32_t rank_of(
      const GridCoordinates& coordinates) const;  ///< dimensions that are not known count as 0
  GridCoordinates coordinates_of(std::int32_t rank) const;  ///< with all three known
  bool contains(const GridCoordinates& coordinates) const;
  std::vector<ParallelIndex> indices_of(const GridCoordinates& coordinates) const;
  /// Ranks of the group of `over` ("dp", "pp", "tp", "world", "pp ends") that the worker belongs
  /// to, along the dimension; empty where it is in none.
  std::vector<std::int32_t> members(const std::string& over,
                                    const GridCoordinates& coordinates) const;
  /// The first of members(); −1 where there are none.
  std::int32_t first_member(const std::string& over, const GridCoordinates& coordinates) const;
  /// Its place among members() of "dp", "pp", "tp" or "pp ends".
  std::int32_t index_in(const std::string& over, const GridCoordinates& coordinates) const;
  /// The member of "dp", "pp" or "tp" that is `distance` further, as its place among members(); −1:
  /// there is none.
  std::int32_t neighbour(const std::string& over, const GridCoordinates& coordinates,
                         std::int32_t distance) const;

 private:
  Status check() const;
  /// False: there is none that explains the ranks.
  bool find_order(const Timeline& timeline);
  static std::size_t dimension_of(const std::string& over);
  static std::int32_t& coordinate(GridCoordinates& coordinates, std::size_t dimension);
  static constexpr std::array<const char*, 3> kNames{"tp", "dp", "pp"};

  std::array<std::int32_t, 3> sizes_{1, 1, 1};  ///< of tp, dp, pp
  std::array<std::size_t, 3> order_{0, 1, 2};   ///< the fastest first
};

}  // namespace megascope::importer
