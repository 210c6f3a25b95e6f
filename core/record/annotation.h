#pragma once

#include "core/record/call.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace megascope {

/// Part of a call in which its thread waited for somebody, as an analysis found out; for timelines.
/// Times of the source that is shown with it.
struct WaitAnnotation {
  std::uint64_t begin_ns = 0;  ///< the entry of the call
  std::uint64_t end_ns = 0;    ///< not after the call's return
  LocationId location = 0;
  std::uint32_t kind = 0;      ///< index into Annotations::wait_kinds
  std::int32_t waits_for = 0;  ///< world rank

  bool operator==(const WaitAnnotation&) const = default;
};

/// Something that an analysis found, over some time: who makes the run slow.
struct Annotation {
  struct Argument {
    std::string name;  ///< "factor"
    std::string text;  ///< shown as it is; empty: the number is
    double number = 0.0;

    bool operator==(const Argument&) const = default;
  };
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::string name;  ///< "Rank 3 (n1) computes 1.24 times as long as its 7 peers"
  std::vector<std::int32_t> world_ranks;  ///< whom it is about
  std::vector<Argument> arguments;

  bool operator==(const Annotation&) const = default;
};

/// All that timelines show beside what was recorded.
struct Annotations {
  std::vector<Annotation> findings;     ///< what matters most first
  std::vector<std::string> wait_kinds;  ///< "late sender"
  std::map<std::int32_t, std::vector<WaitAnnotation>>
      waits;  ///< by world rank; of each location ascending

  std::span<const WaitAnnotation> waits_of(std::int32_t world_rank) const {
    const auto found = waits.find(world_rank);
    return found == waits.end() ? std::span<const WaitAnnotation>()
                                : std::span<const WaitAnnotation>(found->second);
  }
};

}  // namespace megascope
