#include "core/profile/site_sums.h"

#include "core/base/scarce_memory.h"
#include "core/base/wire.h"

namespace megascope {

void SiteSums::add_slow_path(const SiteTotals& calls) {
  const std::uint64_t key = key_of(calls);
  make_space(rows_);  // if memory runs out, neither grows
  const auto [found, is_new] = index_.try_emplace(key, rows_.size());
  if (is_new && rows_.size() == kMaxRows) {
    index_.erase(found);
    return;
  }
  if (is_new) rows_.push_back({.site = calls.site, .region = calls.region});
  known_[slot_of(key)] = {key, found->second};
  rows_[found->second].calls += calls.calls;
  rows_[found->second].time += calls.time;
}

void SiteSums::merge(const SiteSums& other) {
  for (const SiteTotals& row : other.rows_) add(row);
}

void SiteSums::serialize(WireWriter& to) const {
  to.number(rows_.size());
  for (const SiteTotals& row : rows_) {
    to.number(row.site);
    to.number(row.region);
    to.number(row.calls);
    to.number(row.time);
  }
}

void SiteSums::parse(WireReader& from) {
  *this = SiteSums();
  for (std::size_t left = from.count(kMaxRows); left > 0 && from.is_ok(); --left) {
    SiteTotals row;
    row.site = static_cast<std::uint32_t>(from.bounded(UINT32_MAX));
    row.region = static_cast<RegionId>(from.bounded(UINT16_MAX));
    row.calls = from.number();
    row.time = from.number();
    if (from.is_ok()) add(row);
  }
}

}  // namespace megascope
