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
  bool is_pipeline = false;        ///< true: the classes are the stages of a pipeline, in order
  std::optional<std::size_t> hub;  ///< the master: a rank that is sender or receiver of every
                                   ///< message. It is a class of its own
  std::vector<std::vector<std::size_t>>
      replicas;  ///< members of each replica, that is, of the ranks that work on one input. Either
                 ///< at least two replicas of equal size, or empty
  std::vector<std::size_t> host_of;             ///< index of the host, by rank
  std::vector<std::vector<std::size_t>> hosts;  ///< members, ascending
  std::vector<std::string> host_names;          ///< by index of the host
};

/// Determines classes, replicas and hosts. The first of these rules that applies determines the
/// classes:
/// 1. if `groups` is not null and has "pp": ranks with equal coordinate "pp" are a class;
/// 2. if there is a master (Peers::hub): the master is a class, and all other ranks are one;
/// 3. in a pipeline: ranks with the same stage are a class. The stage is the number of ranks that
///    the first message of a step has passed before it arrives;
/// 4. else: ranks whose steps are the same sequence of calls are a class. If one of these classes
///    has fewer than three members, all ranks are one class.
///
/// A replica is a set of ranks with equal coordinate "dp" of `groups`. Without this coordinate,
/// ranks are in one replica if they exchange messages or share a communicator with six or more
/// collectives a step, directly or through other ranks.
Peers find_peers(const Reduced& reduced, const RecordSource& source, const GroupIndices* groups);

}  // namespace megascope::detect
