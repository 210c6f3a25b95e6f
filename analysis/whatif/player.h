#pragma once

#include "analysis/whatif/prepared_graph.h"
#include "analysis/whatif/what_if.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace megascope::whatif {

/// The operations that a scenario changes: those of certain ranks, those of certain names, and
/// transfers between certain pairs of ranks.
struct Subject {
  Scenario scenario;
  std::vector<bool> ranks;  ///< by index in OperationGraph::world_ranks; empty: no ranks
  std::vector<bool> names;  ///< by index in OperationGraph::names; empty: no names
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links =
      {};  ///< pairs of rank indices, the lower first
};

/// A set of subjects that are replayed together: bit i is subject i.
using SubjectBits = std::uint32_t;
inline constexpr std::size_t kMaxSubjects = 32;

/// One replay of a graph. `theirs` selects the durations of the operations of `subjects`, `others`
/// those of all other operations.
struct Variant {
  /// The duration that the replay gives to an operation.
  enum class Time : std::uint8_t {
    kItWas,            ///< the recorded duration
    kUsual,            ///< the typical duration of operations of its type (usual_time.h)
    kWithoutSlowness,  ///< the recorded duration without the excess of slow operations
                       ///< (usual_time.h)
  };
  SubjectBits subjects = 0;
  Time theirs = Time::kItWas;
  Time others = Time::kItWas;
};

/// Replays a graph with changed durations. Changes neither the graph nor the prepared data. After
/// expect(), const functions may be called by any thread.
class Player {
 public:
  /// prepared: can_be_replayed() is true. blamed: by index in world_ranks, true for the ranks that
  /// are slow themselves. Work of a group that contains synchronisation is part of a subject if the
  /// subject contains all blamed members of the group. If the group has no blamed member, the
  /// subject must contain all members. `prepared` and `blamed` outlive the object.
  Player(const PreparedGraph& prepared, const std::vector<bool>& blamed);

  /// Shortens the durations without slowness of `subject`, whose work takes `factor` (> 1) times as
  /// long as it should. Call before any replay. steps: by index of the step, true if the factor
  /// applies to the step; empty: it applies to all steps. In each rank and step, the durations
  /// without slowness are scaled so that their sum is at most the recorded sum / factor. Sums that
  /// are already shorter stay. This accounts for slowness that the comparison of operations of one
  /// type does not show, because all operations of the type are slow or only the subject has the
  /// type.
  void expect(const Subject& subject, double factor, const std::vector<bool>& steps);

  /// Returns, by operation, the set of subjects that it belongs to. subjects: at most kMaxSubjects.
  std::vector<SubjectBits> meant(std::span<const Subject> subjects) const;
  /// Returns the time of each step in ns, by variant. meant: meant() of the subjects to which the
  /// bits of the variants refer. Cost: one pass over the graph for 16 variants.
  std::vector<std::vector<double>> step_times_ns(std::span<const Variant> variants,
                                                 const std::vector<SubjectBits>& meant) const;

  /// Computes the sum of (recorded duration - duration without slowness) for each class of
  /// operations. Returns the classes with the largest sums, in descending order.
  /// number_of(operation index): returns the class of the operation, below `count`. most: largest
  /// number of results.
  template <class NumberOf>
  std::vector<std::size_t> furthest(std::size_t count, std::size_t most,
                                    const NumberOf& number_of) const {
    std::vector<double> excess(count);
    for (std::size_t i = 0; i < graph_.operations.size(); ++i) {
      const auto index = static_cast<OperationIndex>(i);
      excess[number_of(i)] += as_was_ns(index) - without_ns(index);
    }
    return largest(excess, most);
  }

 private:
  static std::vector<std::size_t> largest(const std::vector<double>& values, std::size_t most);
  /// Returns 0 for an unknown duration (kUnknownDuration).
  double as_was_ns(OperationIndex index) const {
    const float duration_ns = graph_.operations[index].duration_ns;
    return duration_ns == kUnknownDuration ? 0.0 : static_cast<double>(duration_ns);
  }
  double usual_ns(OperationIndex index) const {
    return static_cast<double>(prepared_.usual_ns()[graph_.operations[index].type]);
  }
  double without_ns(OperationIndex index) const {
    return without_ns_[index] == kUnknownDuration ? 0.0 : static_cast<double>(without_ns_[index]);
  }
  template <std::size_t Count>
  void replay_some(std::span<const Variant> variants, const std::vector<SubjectBits>& meant,
                   std::vector<std::vector<double>>& steps_ns) const;
  SubjectBits shared_bits(std::uint32_t group, const std::vector<SubjectBits>& of_rank) const;

  const PreparedGraph& prepared_;
  const OperationGraph& graph_;
  const std::vector<bool>& blamed_;
  std::vector<float> without_ns_;  ///< by operation; changed by expect()
};

}  // namespace megascope::whatif
