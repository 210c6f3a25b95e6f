#pragma once

#include "core/record/mpi_calls.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace megascope {

/// The MPI calls of all locations of a process (mpi_calls.h), in order of entry. Holds one stream
/// for each location.
class MergedCalls {
 public:
  MergedCalls(const RecordSource& source, std::int32_t world_rank) {
    for (const LocationDefinition& location : source.process(world_rank).locations) {
      Head head{location.id, {}, mpi_calls(source, world_rank, location.id)};
      if (head.stream->next(head.call)) heads_.push_back(std::move(head));
    }
    std::ranges::make_heap(heads_, is_later);
  }

  /// Returns the next call; nullptr at the end. Valid until the next call of this function.
  const Call* next(LocationId& location) {
    if (is_started_) advance();
    is_started_ = true;
    if (heads_.empty()) return nullptr;
    location = heads_.front().location;
    return &heads_.front().call;
  }

 private:
  struct Head {
    LocationId location;
    Call call;
    std::unique_ptr<CallStream> stream;
  };

  static bool is_later(const Head& a, const Head& b) {
    return std::pair(a.call.enter_ns, a.location) > std::pair(b.call.enter_ns, b.location);
  }
  void advance() {
    if (heads_.size() == 1) {
      if (!heads_.front().stream->next(heads_.front().call)) heads_.clear();
      return;
    }
    std::ranges::pop_heap(heads_, is_later);
    if (heads_.back().stream->next(heads_.back().call)) {
      std::ranges::push_heap(heads_, is_later);
    } else {
      heads_.pop_back();
    }
  }

  std::vector<Head> heads_;  ///< a heap with the earliest first
  bool is_started_ = false;
};

}  // namespace megascope
