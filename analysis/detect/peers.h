#pragma once

#include "analysis/detect/reduction.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace megascope::detect {

/// Which ranks are comparable. A *class* is a set of ranks that do the same work. Ranks are indices
/// into Reduced::ranks.
struct Peers {
  std::vector<std::size_t> class_of;              ///< index of the class, by rank
  std::vector<std::vector<std::size_t>> classes;  ///< members, ascending
  bool is_pipeline = false;                       ///< classes are the pipeline's stages, in order
  std::optional<std::size_t> hub;  ///< a master: an end of all messages; a class of its own
  std::vector<std::vector<std::size_t>>
      replicas;  ///< sets of ranks that work on one input; two or more of equal size, or empty
  std::vector<std::size_t> host_of;             ///< index of the host, by rank
  std::vector<std::vector<std::size_t>> hosts;  ///< members, ascending
  std::vector<std::string> host_names;          ///< by index of the host
};

/// Determines classes, replicas and hosts.
/// Classes, the first rule that applies:
/// 1. the coordinate "pp" of `groups` (null: no groups are known);
/// 2. a master, and all other ranks;
/// 3. in a pipeline, the number of ranks that the first message of a step has passed (the stage);
/// 4. ranks whose steps are the same sequence of calls. If such a class has fewer than three
///    members, all ranks are one class.
/// Replicas: the coordinate "dp" of `groups`, else ranks connected by messages or by communicators
/// with six or more collectives a step.
Peers find_peers(const Reduced& reduced, const RecordSource& source, const GroupIndices* groups);

}  // namespace megascope::detect
