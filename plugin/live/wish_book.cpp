#include "plugin/live/wish_book.h"

#include "plugin/live/bounds.h"

#include <algorithm>
#include <cstring>

namespace megascope::live {
namespace {

using tensors::Wish;
using tensors::WishKind;

/// Whether two requests are equal except for the id.
bool asks_the_same(Wish a, const Wish& b) {
  a.id = b.id;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

WishKind kind_of(const Subscribe& subscribe) {
  if (subscribe.what == Subject::kCounters) return WishKind::kCounters;
  if (subscribe.what == Subject::kStatistics) return WishKind::kStatistics;
  return subscribe.is_whole ? WishKind::kWhole : WishKind::kTile;
}

}  // namespace

std::vector<Wish> wishes_of(const Subscribe& subscribe) {
  if (subscribe.what == Subject::kSteps || subscribe.what == Subject::kCalls) return {};
  Wish wish{.kind = kind_of(subscribe),
            .first_layer = subscribe.first_layer,
            .last_layer = subscribe.last_layer};
  if (subscribe.kinds.size() == 1)
    wish.tensor_kind = static_cast<std::uint8_t>(
        subscribe.kinds[0]);  // the panel filters if there are several
  if (subscribe.what == Subject::kTensor) {
    wish.micro_batch = subscribe.micro_batch;
    wish.replica = subscribe.replica;
    wish.every = subscribe.every;
    wish.tiles = subscribe.tiles;
    wish.keep = subscribe.keep;
    tensors::set_method(wish, subscribe.method);
  }
  std::vector<Wish> wishes;
  for (const std::string& name : subscribe.names) {
    if (tensors::set_pattern(wish, name)) wishes.push_back(wish);
  }
  return wishes;
}

std::map<std::uint32_t, WishBook::Entry>::iterator WishBook::find_or_enter(const Wish& wish) {
  const auto found = std::ranges::find_if(
      entries_, [&](const auto& entry) { return asks_the_same(wish, entry.second.wish); });
  if (found != entries_.end()) return found;
  const auto made = entries_.emplace(next_id_, Entry{.wish = wish}).first;
  made->second.wish.id = next_id_++;
  has_changed_ = true;
  return made;
}

std::optional<std::vector<std::uint32_t>> WishBook::add(const std::vector<Wish>& wishes, From from,
                                                        const std::vector<std::uint32_t>& former) {
  std::vector<std::uint32_t> ids;
  for (const Wish& wish : wishes) {
    const auto at = find_or_enter(wish);
    ++at->second.wanted;
    if (from == From::kGuest) ++at->second.wanted_by_guests;
    ids.push_back(at->first);
  }
  if (is_within_bounds(from, former)) return ids;
  release(ids, from);
  return std::nullopt;
}

/// Checks the limits as if `former` were released.
bool WishBook::is_within_bounds(From from, const std::vector<std::uint32_t>& former) const {
  std::size_t all = 0;
  std::size_t of_guests = 0;
  for (const auto& [id, entry] : entries_) {
    const auto given_up = static_cast<std::uint32_t>(std::ranges::count(former, id));
    all += entry.wanted != given_up ? 1 : 0;
    of_guests += entry.wanted_by_guests > (from == From::kGuest ? given_up : 0) ? 1 : 0;
  }
  return all <= tensors::kMaxWishes && (from == From::kClient || of_guests <= kMaxCompatWishes);
}

void WishBook::release(const std::vector<std::uint32_t>& ids, From from) {
  for (const std::uint32_t id : ids) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    if (from == From::kGuest) --found->second.wanted_by_guests;
    if (--found->second.wanted != 0) continue;
    entries_.erase(found);
    has_changed_ = true;
  }
}

const Wish* WishBook::find(std::uint32_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.wish;
}

bool WishBook::take_changed(std::vector<std::byte>& bytes) {
  if (!has_changed_) return false;
  has_changed_ = false;
  std::vector<Wish> wishes;
  for (const auto& [id, entry] : entries_) wishes.push_back(entry.wish);
  bytes = tensors::pack_wishes(wishes);
  return true;
}

}  // namespace megascope::live
