#pragma once

#include "analysis/whatif/graph_builder.h"
#include "analysis/whatif/operation_graph.h"
#include "analysis/whatif/prepared_graph.h"
#include "analysis/whatif/usual_time.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// How much faster a run would have been, had something taken its usual time. docs/what_if.md has
/// the definition.
namespace megascope::whatif {

/// What is replayed with usual durations, or all but it.
struct Scenario {
  enum class Kind : std::uint8_t { kRank, kGroup, kOperation, kAsked };
  Kind kind = Kind::kRank;
  std::string name;  ///< "rank 7", "dp 0", "forward-compute"
  double
      gain = 1.0;  ///< T / T without its slowness: "the run would have been so many times as fast"
  double alone = 1.0;  ///< T where nothing but it is slow / T where nothing is
  double
      alone_at_mean = 1.0;  ///< T where it is as it was and all else usual / T where all is usual
  double cost = 0.0;  ///< of those asked for: its share of what they cost together, of the run
};

/// Something that may be slow: ranks, or what is sent between pairs of ranks. World ranks.
struct Asked {
  std::vector<std::int32_t> ranks;  ///< ascending
  std::vector<std::pair<std::int32_t, std::int32_t>> links =
      {};               ///< if any, only transfers between these, in either direction
  double factor = 1.0;  ///< their work takes so many times as long as it should; 1: operations of
                        ///< the same type tell
  std::vector<std::int64_t> steps = {};  ///< in these, the program's numbers, ascending
};

/// What was lost, as shares of the run.
struct Loss {
  double total = 0.0;      ///< had nothing been slow: what `gain` of everything comes to
  double explained = 0.0;  ///< of the run: by all that was asked for together
};

struct WhatIf {
  double slowdown = 1.0;  ///< mean T / mean T where all is usual, at least 1; 1 where nothing was
                          ///< replayed
  double step_ns = 0.0;   ///< mean T: a step without launch gaps
  double ideal_step_ns = 0.0;  ///< where all is usual; at most step_ns
  double best_step_ns = 0.0;   ///< where nothing is slow
  Loss loss;
  std::vector<std::int64_t> steps;  ///< replayed, the program's numbers
  std::vector<double> step_slowdowns;
  std::vector<Scenario> scenarios;  ///< the largest gain first
  std::vector<Scenario> asked;      ///< in the order of WhatIfOptions::asked
  std::vector<std::string> limitations;

  bool is_there() const { return !steps.empty(); }
};

struct WhatIfOptions {
  GraphOptions graph;
  std::size_t max_scenarios = 24;  ///< of each kind: those that are furthest beyond the usual; 0:
                                   ///< only those asked for
  std::vector<Asked> asked = {};   ///< replayed besides
  bool has_costs_only = false;  ///< of those asked for gain and cost, and the loss; neither what is
                                ///< usual nor what something costs alone
};

/// source's processes may say their place in parallel groups (ProcessInfo::parallel).
WhatIf what_if(const RecordSource& source, const analysis::MatchTables& tables,
               const WhatIfOptions& options = {});
/// The same of a graph that was built of the source.
WhatIf what_if(const PreparedGraph& prepared, const RecordSource& source,
               const WhatIfOptions& options = {});
/// The same of a graph. groups: by rank of the graph, the names of those that it belongs to ("dp
/// 0").
WhatIf what_if(const PreparedGraph& prepared, const std::vector<std::vector<std::string>>& groups,
               const WhatIfOptions& options = {});
WhatIf what_if(OperationGraph& graph, const std::vector<std::vector<std::string>>& groups,
               const WhatIfOptions& options = {});

}  // namespace megascope::whatif
