#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace megascope {

/// Hash map from unsigned numbers other than 0 (ids, hashes) to small values. Constant time;
/// allocates only while it grows. The table grows with the largest number of entries held at the
/// same time and never shrinks.
template <class Key, class Value>
class IdMap {
 public:
  IdMap() : slots_(kFirstSlots) {}

  /// Returns the value of the key; inserts a default one if it is new. Valid until the next call.
  Value& operator[](Key key) {
    std::size_t index = find(key);
    if (slots_[index].key == kNone) {
      if ((count_ + 1) * 2 > slots_.size()) {
        grow();
        index = find(key);
      }
      slots_[index] = {key, Value{}};
      ++count_;
    }
    return slots_[index].value;
  }

  /// Returns the value of the key; nullptr if it is absent. Valid until the next call.
  Value* get(Key key) {
    Slot& slot = slots_[find(key)];
    return slot.key == kNone ? nullptr : &slot.value;
  }

  /// Moves the value out and removes the key. Returns false, with `value` unchanged, if it is
  /// absent.
  bool take(Key key, Value& value) {
    const std::size_t index = find(key);
    if (slots_[index].key == kNone) return false;
    value = slots_[index].value;
    erase(index);
    return true;
  }

  std::size_t size() const { return count_; }

 private:
  static constexpr Key kNone = 0;
  struct Slot {
    Key key = kNone;
    Value value{};
  };
  static constexpr std::size_t kFirstSlots = 64;

  std::size_t mask() const { return slots_.size() - 1; }
  /// Returns the index at which the search for a key starts. Multiplicative hashing spreads
  /// consecutive ids over the table. Without it they would fill adjacent slots, and erase() would
  /// visit all of these.
  std::size_t home(Key key) const {
    return (key * std::uint64_t{0x9E3779B97F4A7C15U} >> 32) & mask();
  }
  /// Returns the index of the slot that holds the key, or of the free slot where the key would be
  /// inserted. The table uses open addressing and is at most half full.
  std::size_t find(Key key) const {
    std::size_t index = home(key);
    while (slots_[index].key != kNone && slots_[index].key != key) index = (index + 1) & mask();
    return index;
  }
  /// Removes the entry in the slot `gap`. Moves entries of the slots that follow, up to the next
  /// free slot, into the gap if find() would not reach them otherwise.
  void erase(std::size_t gap) {
    for (std::size_t index = (gap + 1) & mask(); slots_[index].key != kNone;
         index = (index + 1) & mask()) {
      const std::size_t distance_from_home = (index - home(slots_[index].key)) & mask();
      if (distance_from_home < ((index - gap) & mask())) continue;
      slots_[gap] = slots_[index];
      gap = index;
    }
    slots_[gap] = {};
    --count_;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.key != kNone) slots_[find(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace megascope
