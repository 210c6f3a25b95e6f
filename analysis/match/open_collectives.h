#pragma once

#include "analysis/match/match.h"
#include "core/record/request_map.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace megascope::analysis {

/// Nonblocking collectives of one process that have started and not completed. Memory is
/// proportional to the largest number that is open at once. One thread at a time.
class OpenCollectives {
 public:
  void add(RequestId request, const CollectiveEnd& end) {
    auto index = static_cast<std::uint32_t>(ends_.size());
    if (free_.empty()) {
      ends_.push_back(end);
    } else {
      index = free_.back();
      free_.pop_back();
      ends_[index] = end;
    }
    by_request_[request] = index + 1;
  }

  /// Removes and returns the collective of the request, if it is open.
  std::optional<CollectiveEnd> take(RequestId request) {
    std::uint32_t index = 0;
    if (!by_request_.take(request, index)) return std::nullopt;
    free_.push_back(--index);
    return ends_[index];
  }

  /// Calls `function` with each open collective, in no particular order.
  template <class Function>
  void for_each(Function function) {
    std::vector<bool> is_free(ends_.size());
    for (const std::uint32_t index : free_) is_free[index] = true;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (!is_free[i]) function(ends_[i]);
    }
  }

 private:
  RequestMap<std::uint32_t> by_request_;  ///< index + 1
  std::vector<CollectiveEnd> ends_;
  std::vector<std::uint32_t> free_;
};

}  // namespace megascope::analysis
