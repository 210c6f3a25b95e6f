#pragma once

#include "plugin/live/views/view_assembler.h"

#include <cstdint>
#include <map>
#include <utility>

namespace megascope::live {

/// The latest view for each tensor and capture request. Keeps at most kMaxViewBytes; the oldest
/// views are removed first. One thread.
class LatestViewCache {
 public:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  ///< capture request id and tensor key

  void put(ViewPointer view);
  /// Returns the view for a key; null if there is none.
  ViewPointer find(const Key& key) const;
  /// Removes all views of a capture request.
  void forget(std::uint32_t capture_request);
  /// Calls function(key) for all views of a capture request.
  template <class Function>
  void for_each(std::uint32_t capture_request, Function function) const {
    for (auto at = views_.lower_bound({capture_request, 0});
         at != views_.end() && at->first.first == capture_request; ++at)
      function(at->first);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    ViewPointer view;
    std::uint64_t number = 0;  ///< order of arrival
  };
  void remove(std::map<Key, Entry>::iterator at);

  std::map<Key, Entry> views_;
  std::map<std::uint64_t, Key> by_age_;
  std::uint64_t next_number_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace megascope::live
