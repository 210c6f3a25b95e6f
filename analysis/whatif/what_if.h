#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/whatif/graph_builder.h"
#include "analysis/whatif/operation_graph.h"
#include "core/record/source.h"

/// How much faster a run would have been, had something taken its usual time. docs/what_if.md has the definition.
namespace megascope::whatif {

/// What is replayed with usual durations, or all but it.
struct Scenario {
  enum class Kind : std::uint8_t { kRank, kGroup, kOperation, kAsked };
  Kind kind = Kind::kRank;
  std::string name;              ///< "rank 7", "dp 0", "forward-compute"
  double gain = 1.0;             ///< T / T without its slowness: "the job would have run `gain` times faster"
  double alone = 1.0;            ///< T where only it is as it was, all else usual, / T where all is: what it explains
};

struct WhatIf {
  double slowdown = 1.0;         ///< mean T / mean T where all is usual; 1 where nothing was replayed
  double step_ns = 0.0;          ///< mean T: a step without launch gaps
  double ideal_step_ns = 0.0;
  std::vector<std::int64_t> steps;      ///< replayed, the program's numbers
  std::vector<double> step_slowdowns;
  std::vector<Scenario> scenarios;      ///< the largest gain first
  std::vector<Scenario> asked;          ///< in the order of WhatIfOptions::asked
  std::vector<std::string> limitations;

  bool is_there() const { return !steps.empty(); }
};

struct WhatIfOptions {
  GraphOptions graph;
  std::size_t most_scenarios = 24;  ///< of each kind: those that are furthest beyond the usual
  std::vector<std::vector<std::int32_t>> asked = {};  ///< sets of world ranks, ascending, to be replayed besides
};

/// What an operation of each type takes usually: work the mean, communication the median, over all ranks and steps.
std::vector<float> usual_durations_ns(const OperationGraph& graph);

/// source's processes may say their place in parallel groups (ProcessInfo::parallel).
WhatIf what_if(const RecordSource& source, const analysis::MatchTables& tables, const WhatIfOptions& options = {});
/// The same of a graph that was built of the source.
WhatIf what_if(OperationGraph& graph, const RecordSource& source, const WhatIfOptions& options = {});
/// The same of a graph. groups: by rank of the graph, the names of those that it belongs to ("dp 0").
WhatIf what_if(OperationGraph& graph, const std::vector<std::vector<std::string>>& groups, const WhatIfOptions& options = {});

}  // namespace megascope::whatif
