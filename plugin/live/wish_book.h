#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "plugin/live/requests.h"
#include "plugin/tensors/wish.h"

namespace megascope::live {

/// What the panels of a subscription ask of the ranks, without ids. Times of steps are told anyway: none.
std::vector<tensors::Wish> wishes_of(const Subscribe& subscribe);

/// What all clients want, each thing once. One thread.
class WishBook {
 public:
  /// The ids under which what comes of them is told; nullopt: there are kMostWishes different ones already, and none is added.
  std::optional<std::vector<std::uint32_t>> add(const std::vector<tensors::Wish>& wishes);
  void release(const std::vector<std::uint32_t>& ids);
  /// Null: nobody wants that any more. Valid until the book changes.
  const tensors::Wish* find(std::uint32_t id) const;
  /// True: they changed since the last time, and `bytes` is all of them.
  bool take_changed(std::vector<std::byte>& bytes);

 private:
  struct Entry {
    tensors::Wish wish;
    std::uint32_t wanted = 0;  ///< by so many panels
  };
  std::map<std::uint32_t, Entry> entries_;  ///< by id
  std::uint32_t next_id_ = 1;
  bool has_changed_ = false;
};

}  // namespace megascope::live
