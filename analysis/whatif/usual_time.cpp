#include "analysis/whatif/usual_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace megascope::whatif {
namespace {

constexpr double kStandardErrors = 3.0;
constexpr double kMinNoise = 0.002;  ///< of a duration

/// The operations of one rank and type, in order of step.
class Cell {
 public:
  Cell(const OperationGraph& graph, std::span<const OperationIndex> operations, double usual_ns)
      : graph_(graph), operations_(operations), usual_ns_(usual_ns) {}

  void shorten(std::vector<float>& durations_ns) const {
    const double noise = noise_of_one();
    const double whole = factor(operations_, usual_ns_, noise);
    for (std::size_t first = 0; first < operations_.size();) {
      std::size_t last = first;
      while (last < operations_.size() &&
             graph_.step_of[operations_[last]] == graph_.step_of[operations_[first]])
        ++last;
      const auto of_step = operations_.subspan(first, last - first);
      const double all = whole * factor(of_step, usual_ns_ * whole, noise);
      for (const OperationIndex index : of_step)
        durations_ns[index] = static_cast<float>(graph_.operations[index].duration_ns / all);
      first = last;
    }
  }

 private:
  double duration(OperationIndex index) const {
    return static_cast<double>(graph_.operations[index].duration_ns);
  }
  double mean(std::span<const OperationIndex> some) const {
    double sum = 0.0;
    for (const OperationIndex index : some) sum += duration(index);
    return sum / static_cast<double>(some.size());
  }
  /// Scatter of single operations: scaled median absolute deviation / median, at least kMinNoise. 1
  /// if the median is 0.
  double noise_of_one() const {
    std::vector<double> values;
    for (const OperationIndex index : operations_) values.push_back(duration(index));
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    const double median = *middle;
    if (median <= 0.0) return 1.0;
    for (double& value : values) value = std::fabs(value - median);
    std::nth_element(values.begin(), middle, values.end());
    return std::max(kMinNoise, 1.4826 * *middle / median);
  }
  double factor(std::span<const OperationIndex> some, double usual_ns, double noise) const {
    if (usual_ns <= 0.0) return 1.0;
    const double above = mean(some) / usual_ns;
    return above > 1.0 + kStandardErrors * noise / std::sqrt(static_cast<double>(some.size()))
               ? above
               : 1.0;
  }

  const OperationGraph& graph_;
  std::span<const OperationIndex> operations_;
  double usual_ns_;
};

/// Sorts numbers by class; the order within a class stays.
template <class ClassOf>
std::vector<OperationIndex> sorted_by(const std::vector<OperationIndex>& numbers,
                                      std::size_t class_count, const ClassOf& class_of) {
  std::vector<std::size_t> begin(class_count + 1);
  for (const OperationIndex i : numbers) ++begin[class_of(i) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<OperationIndex> sorted(numbers.size());
  for (const OperationIndex i : numbers) sorted[begin[class_of(i)]++] = i;
  return sorted;
}

/// Operations of known duration, sorted by type, rank, step and number.
std::vector<OperationIndex> by_cell_and_step(const OperationGraph& graph) {
  std::vector<OperationIndex> order;
  for (OperationIndex i = 0; i < graph.operations.size(); ++i) {
    if (graph.operations[i].duration_ns != kUnknownDuration) order.push_back(i);
  }
  order = sorted_by(order, graph.step_numbers.size(),
                    [&graph](OperationIndex i) { return graph.step_of[i]; });
  order = sorted_by(order, graph.world_ranks.size(),
                    [&graph](OperationIndex i) { return graph.rank_of[i]; });
  return sorted_by(order, graph.types.size(),
                   [&graph](OperationIndex i) { return graph.operations[i].type; });
}

}  // namespace

std::vector<float> usual_durations_ns(const OperationGraph& graph) {
  std::vector<std::vector<float>> by_type(graph.types.size());
  for (const Operation& operation : graph.operations) {
    if (operation.duration_ns != kUnknownDuration)
      by_type[operation.type].push_back(operation.duration_ns);
  }
  std::vector<float> usual;
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    std::vector<float>& all = by_type[type];
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    if (all.empty()) {
      usual.push_back(0.0F);
    } else if (graph.types[type].is_work) {
      usual.push_back(static_cast<float>(std::accumulate(all.begin(), all.end(), 0.0) /
                                         static_cast<double>(all.size())));
    } else {
      std::nth_element(all.begin(), middle, all.end());
      const float upper = *middle;
      usual.push_back(all.size() % 2 == 1 ? upper
                                          : (*std::max_element(all.begin(), middle) + upper) / 2);
    }
  }
  return usual;
}

std::vector<float> durations_without_slowness_ns(const OperationGraph& graph,
                                                 const std::vector<float>& usual_ns) {
  std::vector<float> durations_ns;
  for (const Operation& operation : graph.operations) durations_ns.push_back(operation.duration_ns);
  const auto cell_of = [&graph](OperationIndex i) {
    return std::pair(graph.operations[i].type, graph.rank_of[i]);
  };
  const std::vector<OperationIndex> order = by_cell_and_step(graph);
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && cell_of(order[last]) == cell_of(order[first])) ++last;
    const double usual = usual_ns[graph.operations[order[first]].type];
    Cell(graph, std::span(order).subspan(first, last - first), usual).shorten(durations_ns);
    first = last;
  }
  return durations_ns;
}

}  // namespace megascope::whatif
