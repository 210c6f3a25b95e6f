#include "core/profile/region_sums.h"

#include "core/base/wire.h"

namespace megascope {

RegionTotals& RegionSums::new_row(RegionId region) {
  if (region >= index_.size()) index_.resize(std::size_t{region} + 1);
  rows_.push_back({.region = region});
  index_[region] = static_cast<std::uint16_t>(rows_.size());
  return rows_.back();
}

void RegionSums::merge(const RegionSums& other) {
  for (const RegionTotals& row : other.rows_) add(row);
}

void RegionSums::serialize(WireWriter& to) const {
  to.number(rows_.size());
  for (const RegionTotals& row : rows_) {
    to.number(row.region);
    to.number(row.count);
    to.number(row.time);
    to.number(row.max_time);
  }
}

void RegionSums::parse(WireReader& from) {
  *this = RegionSums();
  for (std::size_t left = from.count(kFirstReservedRegion); left > 0 && from.is_ok(); --left) {
    RegionTotals row;
    row.region = static_cast<RegionId>(from.bounded(UINT16_MAX));
    row.count = from.number();
    row.time = from.number();
    row.max_time = from.number();
    if (from.is_ok()) add(row);
  }
}

}  // namespace megascope
