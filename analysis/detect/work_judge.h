#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/evidence.h"
#include "analysis/detect/findings.h"
#include "analysis/detect/peers.h"
#include "analysis/detect/reduction.h"

#include <cstddef>
#include <string>
#include <vector>

namespace megascope::detect {

/// Work of one group of ranks that synchronise inside of it, compared with that of groups of the
/// same class.
struct SharedSeries {
  std::vector<std::size_t> members;  ///< indices into Reduced::ranks, ascending
  std::size_t class_index = 0;
  bool has_peers = false;      ///< other groups of the class
  std::vector<double> excess;  ///< log factor by step, less the level of the class's lower third
  double noise = 0.0;
  double apart = 0.0;  ///< by how much groups of the class differ for good
  double share = 0.0;  ///< of the class's work
  std::string operation;
};

/// Work of ranks compared with their class, and of classes with each other and with their own past.
struct WorkSeries {
  std::vector<std::vector<double>> excess;  ///< log factor by rank and step, against the class
  std::vector<std::vector<double>>
      stall;  ///< share of the step's work by rank and step that lies in single gaps
  std::vector<std::vector<double>>
      class_level;                      ///< log of the class's usual work by class and step
  std::vector<double> noise;            ///< standard deviation of `excess` by rank
  std::vector<double> class_noise;      ///< of class_level, but for what is common to all classes
  std::vector<double> class_min_noise;  ///< of class_level, were the parts of a step independent
  std::vector<double>
      independent;  ///< what `noise` would be were the parts of a step independent, by rank
  std::vector<SharedSeries> shared;
};
/// Ranks with their classes; classes not yet with each other.
WorkSeries compare_work(const Reduced& reduced, const Peers& peers);
/// Adds what options.shared holds to a comparison of what ranks do by themselves; the work of
/// classes is of both kinds then.
void add_shared_work(const Reduced& reduced, const Peers& peers, const Options& options,
                     WorkSeries& work);
/// Takes what all classes have in common out of their levels, and says what these vary by.
void relate_classes(const Peers& peers, WorkSeries& work);

/// How far a rank must be from its class to count.
struct Measure {
  double level = 0.0;    ///< of the lower third of the class
  double apart = 0.0;    ///< what its members differ by for good, with a margin
  double widened = 1.0;  ///< by this factor the noise grows, since the class's level is not exact
};
Measure measure_of(const WorkSeries& work, const std::vector<std::size_t>& members);

/// What can be slow as one: each has its own cause.
enum class Together : std::uint8_t { kRank, kHost, kReplica, kClass, kSynchronised, kReplicas };

struct SlowUnit {
  Together kind = Together::kRank;
  std::size_t index = 0;  ///< of the rank, host, replica, class or WorkSeries::shared
  std::vector<std::size_t> ranks;
  Finding finding;
  double balance_factor = 1.0;  ///< of kClass: its work over the mean of all classes
  bool is_uneven = false;       ///< of kReplica: its work varies from step to step
  std::string operation = {};   ///< of kSynchronised: in which they synchronise
};
/// The units whose work is slow, the surest first: what explains more at once is surer, so that a
/// host is named and not its ranks. A rank is in one of them, a class may be in another beside.
std::vector<SlowUnit> slow_units(const WorkSeries& work, const Peers& peers,
                                 const Options& options);

/// Ranks with more pauses than the others: one finding a rank, empty (active_steps = 0) where there
/// is none.
std::vector<Finding> stalled_ranks(const WorkSeries& work, const Peers& peers,
                                   const Options& options);

}  // namespace megascope::detect
