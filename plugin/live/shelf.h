#pragma once

#include "plugin/live/joiner.h"

#include <cstdint>
#include <map>
#include <utility>

namespace megascope::live {

/// The newest view of each tensor and wish, at most kMostViewBytes of them: those that are there
/// longest go first. One thread.
class Shelf {
 public:
  using Place = std::pair<std::uint32_t, std::uint64_t>;  ///< wish and key of the tensor

  void put(ViewPointer view);
  /// Null: it is not there any more.
  ViewPointer find(const Place& place) const;
  void forget(std::uint32_t wish);
  /// Calls function(place) for all of a wish.
  template <class Function>
  void for_each(std::uint32_t wish, Function function) const {
    for (auto at = views_.lower_bound({wish, 0}); at != views_.end() && at->first.first == wish;
         ++at)
      function(at->first);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    ViewPointer view;
    std::uint64_t number = 0;  ///< in which order it came
  };
  void remove(std::map<Place, Entry>::iterator at);

  std::map<Place, Entry> views_;
  std::map<std::uint64_t, Place> by_age_;
  std::uint64_t next_number_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace megascope::live
