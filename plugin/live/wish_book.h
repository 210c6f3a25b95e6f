#pragma once

#include "plugin/live/requests.h"
#include "plugin/tensors/wish.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace megascope::live {

/// What the panels of a subscription ask of the ranks, without ids. Times of steps are told anyway:
/// none.
std::vector<tensors::Wish> wishes_of(const Subscribe& subscribe);

/// Who wants something: one that has shown a token, or one of the compatibility endpoint, which
/// takes none.
enum class From : std::uint8_t { kClient, kGuest };

/// What all clients want, each thing once: kMostWishes at most, of which guests may want
/// kMostCompatWishes. One thread.
class WishBook {
 public:
  /// The ids under which what comes of them is told; nullopt: there are too many different ones
  /// already, and none is added. former: what the same one will release next, which does not count.
  std::optional<std::vector<std::uint32_t>> add(const std::vector<tensors::Wish>& wishes, From from,
                                                const std::vector<std::uint32_t>& former = {});
  void release(const std::vector<std::uint32_t>& ids, From from);
  /// Null: nobody wants that any more. Valid until the book changes.
  const tensors::Wish* find(std::uint32_t id) const;
  /// True: they changed since the last time, and `bytes` is all of them.
  bool take_changed(std::vector<std::byte>& bytes);

 private:
  struct Entry {
    tensors::Wish wish;
    std::uint32_t wanted = 0;            ///< so many times
    std::uint32_t wanted_by_guests = 0;  ///< of these
  };
  std::map<std::uint32_t, Entry>::iterator find_or_enter(const tensors::Wish& wish);
  bool is_within_bounds(From from, const std::vector<std::uint32_t>& former) const;
  std::map<std::uint32_t, Entry> entries_;  ///< by id
  std::uint32_t next_id_ = 1;
  bool has_changed_ = false;
};

}  // namespace megascope::live
