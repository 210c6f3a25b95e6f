#pragma once

#include "core/record/call.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace megascope {

/// The part of a call in which its thread waited for another rank, according to an analysis. Shown
/// in timelines. Times are those of the RecordSource that the timeline shows.
struct WaitAnnotation {
  std::uint64_t begin_ns = 0;  ///< entry of the call
  std::uint64_t end_ns = 0;    ///< at most the return of the call
  LocationId location = 0;
  std::uint32_t kind = 0;      ///< index into Annotations::wait_kinds
  std::int32_t waits_for = 0;  ///< world rank for which the thread waits

  bool operator==(const WaitAnnotation&) const = default;
};

/// A finding of an analysis, with its time interval: which ranks delay the run, and why.
struct Annotation {
  struct Argument {
    std::string name;  ///< "factor"
    std::string text;  ///< shown as it is; empty: `number` is shown
    double number = 0.0;

    bool operator==(const Argument&) const = default;
  };
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::string name;  ///< "Rank 3 (n1) computes 1.24 times as long as its 7 peers"
  std::vector<std::int32_t> world_ranks;  ///< ranks that the finding is about
  std::vector<Argument> arguments;

  bool operator==(const Annotation&) const = default;
};

/// Everything that timelines show in addition to the recorded data.
struct Annotations {
  std::vector<Annotation> findings;     ///< in order of importance
  std::vector<std::string> wait_kinds;  ///< "late sender"
  std::map<std::int32_t, std::vector<WaitAnnotation>>
      waits;  ///< by world rank; ascending within each location

  std::span<const WaitAnnotation> waits_of(std::int32_t world_rank) const {
    const auto found = waits.find(world_rank);
    return found == waits.end() ? std::span<const WaitAnnotation>()
                                : std::span<const WaitAnnotation>(found->second);
  }
};

}  // namespace megascope
