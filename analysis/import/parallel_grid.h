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

/// Layout of the ranks of a job: dp × pp × tp workers, and the order of the dimensions in the rank.
class ParallelGrid {
 public:
  /// text: "tp=4,pp=4,dp=4" with `,` `+` or `:`; omitted dimensions have size 1; "order=tp-dp-pp"
  /// (the default) names the dimension that changes fastest first.
  static Status parse(std::string_view text, ParallelGrid& grid);
  /// Derives the grid from the timeline: sizes from the coordinates of its tracks or from
  /// Timeline::sizes, the order from their ranks. Fails if that gives more ranks than are
  /// supported. If no order explains the ranks, the ranks are renumbered and the timeline gets a
  /// note.
  static Status around(Timeline& timeline, ParallelGrid& grid);

  std::int32_t size() const { return sizes_[0] * sizes_[1] * sizes_[2]; }
  std::int32_t rank_of(
      const GridCoordinates& coordinates) const;            ///< unknown coordinates count as 0
  GridCoordinates coordinates_of(std::int32_t rank) const;  ///< with all three known
  bool contains(const GridCoordinates& coordinates) const;
  std::vector<ParallelIndex> indices_of(const GridCoordinates& coordinates) const;
  /// Ranks of the group of `over` ("dp", "pp", "tp", "world", "pp ends") that the worker belongs
  /// to, in order along the dimension; empty if it belongs to none.
  std::vector<std::int32_t> members(const std::string& over,
                                    const GridCoordinates& coordinates) const;
  /// The first of members(); −1: none.
  std::int32_t first_member(const std::string& over, const GridCoordinates& coordinates) const;
  /// Index of the worker in members() of "dp", "pp", "tp" or "pp ends".
  std::int32_t index_in(const std::string& over, const GridCoordinates& coordinates) const;
  /// Index in members() of the member of "dp", "pp" or "tp" at `distance` from the worker; −1:
  /// none.
  std::int32_t neighbour(const std::string& over, const GridCoordinates& coordinates,
                         std::int32_t distance) const;

 private:
  Status check() const;
  /// Returns false if no order explains the ranks.
  bool find_order(const Timeline& timeline);
  static std::size_t dimension_of(const std::string& over);
  static std::int32_t& coordinate(GridCoordinates& coordinates, std::size_t dimension);
  static constexpr std::array<const char*, 3> kNames{"tp", "dp", "pp"};

  std::array<std::int32_t, 3> sizes_{1, 1, 1};  ///< of tp, dp, pp
  std::array<std::size_t, 3> order_{0, 1, 2};   ///< the fastest first
};

}  // namespace megascope::importer
