#include "core/profile/collective_sums.h"

#include "core/base/wire.h"

#include <algorithm>

namespace megascope {
namespace {

constexpr CommId kMaxComms = 1U << 20;

}  // namespace

/// Returns false if there are too many communicators; collectives on this one are not added.
bool CollectiveSums::make_space(CommId comm) {
  if (comm >= kMaxComms) return false;
  slots_.resize(std::size_t{comm} + 1);
  return true;
}

void CollectiveSums::merge(const CollectiveSums& other) {
  if (other.slots_.size() > slots_.size()) slots_.resize(other.slots_.size());
  for (std::size_t i = 0; i < other.slots_.size(); ++i) {
    slots_[i].sum.count += other.slots_[i].sum.count;
    slots_[i].sum.hash += other.slots_[i].sum.hash;
    slots_[i].sum.reached = std::max(slots_[i].sum.reached, other.slots_[i].sum.reached);
    slots_[i].root_mask &= other.slots_[i].root_mask;
  }
}

void CollectiveSums::serialize(WireWriter& to) const {
  const auto used = std::ranges::count_if(slots_,
                                          [](const Slot& slot) { return slot.sum.count != 0; });
  to.number(static_cast<std::uint64_t>(used));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].sum.count == 0) continue;
    to.number(i);
    to.number(slots_[i].sum.count);
    to.number(slots_[i].sum.hash);
    to.number(slots_[i].sum.reached);
  }
}

void CollectiveSums::parse(WireReader& from) {
  for (Slot& slot : slots_) slot.sum = {};
  for (std::size_t left = from.count(kMaxComms); left > 0 && from.is_ok(); --left) {
    const auto comm = static_cast<CommId>(from.bounded(kMaxComms - 1));
    const std::uint64_t count = from.number();
    const std::uint64_t hash = from.number();
    const std::uint64_t reached = from.number();
    if (!from.is_ok()) return;
    if (comm >= slots_.size()) make_space(comm);
    slots_[comm].sum = {count, hash, reached};
  }
}

}  // namespace megascope
