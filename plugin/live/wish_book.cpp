#include "plugin/live/wish_book.h"

#include <algorithm>
#include <cstring>

namespace megascope::live {
namespace {

using tensors::Wish;
using tensors::WishKind;

/// All but the id.
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
  if (subscribe.what == Subject::kSteps) return {};
  Wish wish{.kind = kind_of(subscribe), .first_layer = subscribe.first_layer, .last_layer = subscribe.last_layer};
  if (subscribe.kinds.size() == 1) wish.tensor_kind = static_cast<std::uint8_t>(subscribe.kinds[0]);  // of several the panel chooses
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

std::optional<std::vector<std::uint32_t>> WishBook::add(const std::vector<Wish>& wishes) {
  std::vector<std::uint32_t> ids;
  for (const Wish& wish : wishes) {
    auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return asks_the_same(wish, entry.second.wish); });
    if (found == entries_.end()) {
      if (entries_.size() >= tensors::kMostWishes) {
        release(ids);
        return std::nullopt;
      }
      found = entries_.emplace(next_id_, Entry{.wish = wish}).first;
      found->second.wish.id = next_id_++;
      has_changed_ = true;
    }
    ++found->second.wanted;
    ids.push_back(found->first);
  }
  return ids;
}

void WishBook::release(const std::vector<std::uint32_t>& ids) {
  for (const std::uint32_t id : ids) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || --found->second.wanted != 0) continue;
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
