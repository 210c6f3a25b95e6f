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

/// The work in which a group of ranks synchronises (SharedWork), compared with that of the other
/// groups of its class.
struct SharedSeries {
  std::vector<std::size_t> members;  ///< indices into Reduced::ranks, ascending
  std::size_t class_index = 0;
  bool has_peers = false;  ///< the class has other groups
  std::vector<double>
      excess;          ///< log factor by step, compared with the lower third quantile of the groups
  double noise = 0.0;  ///< standard deviation of `excess`
  double apart = 0.0;  ///< Measure::apart of the groups
  double share = 0.0;  ///< fraction of the class's work, 0 to 1
  std::string operation;  ///< SharedWork::operation
};

/// The work of ranks compared with that of their class, and the work of classes. Ranks are indices
/// into Reduced::ranks, classes into Peers::classes. Standard deviations are of log factors.
struct WorkSeries {
  std::vector<std::vector<double>>
      excess;  ///< log factor by rank and step, compared with the lower third quantile of the
               ///< class. In a class of two ranks: compared with the other rank
  std::vector<std::vector<double>>
      stall;  ///< by rank and step: time by which the slowest part exceeds its usual work, divided
              ///< by the usual work of the step. The permanent factor of the rank is removed first
  std::vector<std::vector<double>> class_level;  ///< log(usual work in ns) by class and step
  std::vector<double> noise;                     ///< standard deviation of `excess`, by rank
  std::vector<double> class_noise;               ///< standard deviation of class_level, by class
  std::vector<double>
      class_min_noise;  ///< what class_noise would be if the parts of a step were independent
  std::vector<double>
      independent;  ///< by rank, what `noise` would be if the parts of a step were independent
  std::vector<double> own_range;  ///< by rank, fifth_range() of its log(work in ns) over the steps
  std::vector<SharedSeries> shared;
};
/// Compares each rank with its class. Sets all members but `shared`, class_noise and
/// class_min_noise.
WorkSeries compare_work(const Reduced& reduced, const Peers& peers);
/// Reads options.shared, adds it as `shared`, and adds its work to class_level. Does nothing if
/// options.shared is null or empty. Call it after compare_work(). One pass over each SharedWork.
void add_shared_work(const Reduced& reduced, const Peers& peers, const Options& options,
                     WorkSeries& work);
/// Subtracts the variation that all classes have in common from class_level, and sets class_noise
/// and class_min_noise. Call it after compare_work() and add_shared_work().
void relate_classes(const Peers& peers, WorkSeries& work);

/// The reference with which the members of a class are compared.
struct Measure {
  double level = 0.0;  ///< log factor of the lower third of the members
  double apart = 0.0;  ///< size of permanent differences between healthy members, with a margin. A
                       ///< smaller excess is not reported
  double widened = 1.0;  ///< the noise of a member is multiplied by this, because `level` is an
                         ///< estimate
};
/// Returns the reference of a class; the default Measure for fewer than three members. members:
/// indices into work.excess.
Measure measure_of(const WorkSeries& work, const std::vector<std::size_t>& members);

/// The sets of ranks that one cause can slow.
enum class Together : std::uint8_t {
  kRank,          ///< one rank
  kHost,          ///< the ranks of one host
  kReplica,       ///< the ranks of one replica
  kClass,         ///< the ranks of one class, such as a pipeline stage
  kSynchronised,  ///< the members of one group of a SharedWork
  kReplicas       ///< the ranks of all replicas
};

/// A slow set of ranks.
struct SlowUnit {
  Together kind = Together::kRank;
  std::size_t index = 0;  ///< index of the rank, host, replica or class; kSynchronised: index in
                          ///< WorkSeries::shared
  std::vector<std::size_t> ranks;  ///< indices into Reduced::ranks
  Finding finding;
  double balance_factor = 1.0;  ///< kClass: its work divided by the mean work of all classes, if it
                                ///< is slow compared with the other stages. Other kinds: 1
  bool is_uneven = false;       ///< kReplica, kReplicas: the work varies from step to step
  std::string operation = {};   ///< kSynchronised: SharedSeries::operation
  std::vector<std::size_t> within = {};  ///< kRank: the ranks of the slow host of this rank, if the
                                         ///< rank was compared with them. Else empty
};
/// Finds the units whose work is slow. A unit is a set of ranks that one cause can slow (Together):
/// a rank, a host, a replica, a class (the ranks that do the same work), or a group that
/// synchronises in its work. Units are selected in descending order of score, and a unit that a
/// selected one explains is not reported. Example: a host whose ranks are all slow has a higher
/// score than each of its ranks, so the host is reported and its ranks are not. In addition to a
/// slow class or host, a rank of it is reported if it is slower than the other ranks of that class
/// or host.
std::vector<SlowUnit> slow_units(const WorkSeries& work, const Peers& peers,
                                 const Options& options);

/// Finds ranks that pause more than the others. Returns one finding for each rank. is_there() is
/// false for ranks that do not pause more. Finding::excess is the log factor by which the pauses
/// make a step longer.
std::vector<Finding> stalled_ranks(const WorkSeries& work, const Peers& peers,
                                   const Options& options);

}  // namespace megascope::detect
