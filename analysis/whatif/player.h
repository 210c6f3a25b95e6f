#pragma once

#include "analysis/whatif/prepared_graph.h"
#include "analysis/whatif/what_if.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace megascope::whatif {

/// What a scenario is about: what certain ranks did, operations of certain names, or transfers
/// between certain ranks.
struct Subject {
  Scenario scenario;
  std::vector<bool> ranks;  ///< by index in OperationGraph::world_ranks; empty: none
  std::vector<bool> names;  ///< by name; empty: none
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links =
      {};  ///< indices of ranks, the lower first
};

/// Subjects that are replayed in one go, by number: one bit each.
using SubjectBits = std::uint32_t;
inline constexpr std::size_t kMaxSubjects = 32;

/// One replay of a graph: the time that operations of its subjects take, and that of all others.
struct Variant {
  enum class Time : std::uint8_t { kItWas, kUsual, kWithoutSlowness };
  SubjectBits subjects = 0;
  Time theirs = Time::kItWas;
  Time others = Time::kItWas;
};

/// Replays a graph without the slowness of some operations, or with that of some only.
class Player {
 public:
  /// prepared: can_be_replayed(), and outlives the object. blamed: by index in world_ranks, ranks
  /// that are slow themselves: work that a group does in step is theirs, not its other members'.
  Player(const PreparedGraph& prepared, const std::vector<bool>& blamed);

  /// Work of the subject takes `factor` times as long as it should, in these steps (by index; all
  /// if empty): what operations of the same type do not tell of that (they are slow alike, or only
  /// the subject has some) is taken from all of its work alike.
  void expect(const Subject& subject, double factor, const std::vector<bool>& steps);

  /// The subjects' bit by operation: subject i has bit i. At most kMaxSubjects.
  std::vector<SubjectBits> meant(std::span<const Subject> subjects) const;
  /// The time of each step in ns, by variant. meant: of the subjects that the variants name.
  std::vector<std::vector<double>> step_times_ns(std::span<const Variant> variants,
                                                 const std::vector<SubjectBits>& meant) const;

  /// Returns at most `most` numbers below `count`, largest excess first. The excess of a number is
  /// the time of its operations minus their time without slowness. number_of(operation): the number
  /// to which an operation belongs.
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
  /// Of a transfer that no rank waited for only that is known: it was over in time.
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
  std::vector<float> without_ns_;  ///< by operation
};

}  // namespace megascope::whatif
