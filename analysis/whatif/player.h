#pragma once

#include "analysis/whatif/replay.h"
#include "analysis/whatif/what_if.h"

#include <cstddef>
#include <cstdint>
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

/// Replays a graph without the slowness of some operations, or with that of some only.
class Player {
 public:
  /// blamed: by index in world_ranks, ranks that are slow themselves: work that a group does in
  /// step is theirs, not its other members'.
  Player(OperationGraph& graph, const std::vector<bool>& blamed);

  std::size_t cut_count() const { return replay_.cut_count(); }
  /// Work of the subject takes `factor` times as long as it should, in these steps (by index; all
  /// if empty): what operations of the same type do not tell of that (they are slow alike, or only
  /// the subject has some) is taken from all of its work alike.
  void expect(const Subject& subject, double factor, const std::vector<bool>& steps);

  enum class As : std::uint8_t { kItWas, kUsual, kWithoutSlowness };
  std::vector<double> step_times_ns(As as);
  double mean_ns(As as);
  /// Sets gain and both readings of `alone`. The other times: of the run as it was, where all is
  /// usual, where nothing is slow.
  void play(std::vector<Subject>& subjects, double step_ns, double ideal_step_ns,
            double best_step_ns);
  /// Mean time without the slowness of all subjects together; or of all but one.
  double mean_without_ns(const std::vector<Subject>& subjects, std::size_t but = SIZE_MAX);

  /// Numbers below `count` in the order of time beyond the usual; number_of(operation) says to
  /// which it counts.
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
  /// Each subject is played three times.
  static constexpr std::size_t kAtOnce = Replay::kLanes / 3;
  using Bits = std::uint32_t;  ///< by lane

  static std::vector<std::size_t> largest(const std::vector<double>& values, std::size_t most);
  /// Of a transfer that nobody waited for only that is known: it was over in time.
  double as_was_ns(OperationIndex index) const {
    const float duration_ns = graph_.operations[index].duration_ns;
    return duration_ns == kUnknownDuration ? 0.0 : static_cast<double>(duration_ns);
  }
  double usual_ns(OperationIndex index) const {
    return static_cast<double>(usual_ns_[graph_.operations[index].type]);
  }
  double without_ns(OperationIndex index) const {
    return without_ns_[index] == kUnknownDuration ? 0.0 : static_cast<double>(without_ns_[index]);
  }
  void play_some(std::vector<Subject>& subjects, std::size_t first, std::size_t count,
                 double step_ns, double ideal_step_ns, double best_step_ns);
  /// Which lanes' subjects an operation belongs to.
  std::vector<Bits> meant(const std::vector<Subject>& subjects, std::size_t first,
                          std::size_t count) const;
  Bits shared_bits(std::uint32_t group, const std::vector<Bits>& of_rank) const;

  OperationGraph& graph_;
  const std::vector<bool>& blamed_;
  Replay replay_;
  std::vector<float> usual_ns_;    ///< by type
  std::vector<float> without_ns_;  ///< by operation
};

}  // namespace megascope::whatif
