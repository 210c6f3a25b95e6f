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

/// Layout of the ranks of a job: a grid of dp × pp × tp workers, and the order in which the
/// dimensions determine the rank.
class ParallelGrid {
 public:
  /// Parses a description such as "tp=4,pp=4,dp=4,order=tp-dp-pp". The separator is `,`, `+` or
  /// `:`. Omitted dimensions have size 1. "order" lists the dimensions; the one whose coordinate
  /// changes fastest with the rank is first. The default is "order=tp-dp-pp".
  static Status parse(std::string_view text, ParallelGrid& grid);
  /// Derives the grid from the timeline. The sizes follow from the coordinates of its tracks and
  /// from Timeline::sizes. The order follows from the ranks of the tracks. If these ranks agree
  /// with no order, the ranks are renumbered, and a note is added to the timeline. Returns an error
  /// if the grid has more ranks than are supported.
  static Status around(Timeline& timeline, ParallelGrid& grid);

  std::int32_t size() const { return sizes_[0] * sizes_[1] * sizes_[2]; }
  std::int32_t rank_of(
      const GridCoordinates& coordinates) const;            ///< unknown coordinates count as 0
  GridCoordinates coordinates_of(std::int32_t rank) const;  ///< returns all three coordinates
  bool contains(const GridCoordinates& coordinates) const;
  std::vector<ParallelIndex> indices_of(const GridCoordinates& coordinates) const;
  /// Returns the ranks of the group to which the worker at `coordinates` belongs, in order along
  /// the dimension. over: "dp", "pp" or "tp" for the group along this dimension; "world" for all
  /// ranks; "pp ends" for the first and the last pipeline stage. Empty if the worker belongs to no
  /// such group.
  std::vector<std::int32_t> members(const std::string& over,
                                    const GridCoordinates& coordinates) const;
  /// Returns the first rank of members(); −1 if it is empty.
  std::int32_t first_member(const std::string& over, const GridCoordinates& coordinates) const;
  /// Returns the index in members() of the worker at `coordinates`. over: "dp", "pp", "tp" or "pp
  /// ends".
  std::int32_t index_in(const std::string& over, const GridCoordinates& coordinates) const;
  /// Returns the index in members() of the member at `distance` from the worker at `coordinates`,
  /// along the dimension `over`: "dp", "pp" or "tp". Returns −1 if there is none.
  std::int32_t neighbour(const std::string& over, const GridCoordinates& coordinates,
                         std::int32_t distance) const;

 private:
  Status check() const;
  /// Sets order_. Returns false if the ranks of the tracks agree with no order.
  bool find_order(const Timeline& timeline);
  static std::size_t dimension_of(const std::string& over);
  static std::int32_t& coordinate(GridCoordinates& coordinates, std::size_t dimension);
  static constexpr std::array<const char*, 3> kNames{"tp", "dp", "pp"};

  std::array<std::int32_t, 3> sizes_{1, 1, 1};  ///< sizes of tp, dp and pp
  std::array<std::size_t, 3> order_{0, 1, 2};   ///< dimensions (0: tp, 1: dp, 2: pp); the one that
                                                ///< changes fastest with the rank is first
};

}  // namespace megascope::importer
