#pragma once

#include "analysis/detect/reduction.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace megascope::detect {

/// Who does the same work as whom, in indices into Reduced::ranks.
struct Peers {
  std::vector<std::size_t> class_of;              ///< by rank
  std::vector<std::vector<std::size_t>> classes;  ///< members, ascending
  bool is_pipeline = false;        ///< classes are the stages of a pipeline, in order
  std::optional<std::size_t> hub;  ///< a master, one end of all messages; a class of its own
  std::vector<std::vector<std::size_t>>
      replicas;  ///< ranks that work on one input, where there are two or more such sets
  std::vector<std::size_t> host_of;  ///< by rank
  std::vector<std::vector<std::size_t>> hosts;
  std::vector<std::string> host_names;
};

/// Ranks whose steps are the same sequence of calls do the same work. In a pipeline their place in
/// it counts too: how many ranks a micro-batch has passed before. In a program that is none, a
/// class of one or two ranks is no measure: then all ranks are one class. Replicas are what
/// messages and often used communicators tie together. Known groups come first.
Peers find_peers(const Reduced& reduced, const RecordSource& source, const GroupIndices* groups);

}  // namespace megascope::detect
