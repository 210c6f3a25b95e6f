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
  bool has_peers = false;      ///< the class has other groups
  std::vector<double> excess;  ///< log factor by step, against the lower third of the groups
  double noise = 0.0;          ///< standard deviation of `excess`
  double apart = 0.0;          ///< Measure::apart of the groups
  double share = 0.0;          ///< fraction of the class's work, 0 … 1
  std::string operation;       ///< SharedWork::operation
};

/// Work of ranks compared with that of their class, and the work of classes. Ranks are indices into
/// Reduced::ranks, classes into Peers::classes. Standard deviations are of log factors.
struct WorkSeries {
  std::vector<std::vector<double>>
      excess;  ///< log factor by rank and step, against the lower third of the class; in a class of
               ///< two ranks, against the other rank
  std::vector<std::vector<double>>
      stall;  ///< by rank and step, excess of the slowest part over its usual work, divided by the
              ///< usual work of the step; the rank's factor is taken out
  std::vector<std::vector<double>> class_level;  ///< log(usual work in ns) by class and step
  std::vector<double> noise;                     ///< standard deviation of `excess`, by rank
  std::vector<double> class_noise;               ///< standard deviation of class_level, by class
  std::vector<double> class_min_noise;  ///< the same, if the parts of a step were independent
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
/// and class_min_noise. Call it last.
void relate_classes(const Peers& peers, WorkSeries& work);

/// The reference with which the members of a class are compared.
struct Measure {
  double level = 0.0;    ///< log factor of the lower third of the members
  double apart = 0.0;    ///< permanent differences of healthy members, with a margin: a smaller
                         ///< excess is not reported
  double widened = 1.0;  ///< by which a member's noise grows, since `level` is an estimate
};
/// Returns the reference of a class; the default Measure for fewer than three members. members:
/// indices into work.excess.
Measure measure_of(const WorkSeries& work, const std::vector<std::size_t>& members);

/// The sets of ranks that one cause can slow: a rank, host, replica or class; the members of a
/// SharedWork group; all replicas.
enum class Together : std::uint8_t { kRank, kHost, kReplica, kClass, kSynchronised, kReplicas };

/// A slow set of ranks.
struct SlowUnit {
  Together kind = Together::kRank;
  std::size_t index = 0;           ///< of the rank, host, replica, class, or in WorkSeries::shared
  std::vector<std::size_t> ranks;  ///< indices into Reduced::ranks
  Finding finding;
  double balance_factor = 1.0;  ///< kClass: its work over the mean of all classes, if it is slow
                                ///< against the other stages; else 1
  bool is_uneven = false;       ///< kReplica, kReplicas: its work varies from step to step
  std::string operation = {};   ///< kSynchronised: SharedSeries::operation
  std::vector<std::size_t> within = {};  ///< kRank: ranks of a slow host, with the others of which
                                         ///< the rank is compared; else empty
};
/// Finds the units whose work is slow. Units with the highest score come first; what a unit
/// explains is not reported again. A host whose ranks are all slow therefore scores higher than one
/// of its ranks, and is reported instead of them. A slow class or host may contain a rank that is
/// reported, too.
std::vector<SlowUnit> slow_units(const WorkSeries& work, const Peers& peers,
                                 const Options& options);

/// Finds ranks that pause more than the others. Returns one finding for each rank; is_there() is
/// false for ranks that do not. Finding::excess is a log factor of the whole step.
std::vector<Finding> stalled_ranks(const WorkSeries& work, const Peers& peers,
                                   const Options& options);

}  // namespace megascope::detect
