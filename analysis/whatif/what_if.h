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

/// Computes how much faster a run would have been with typical durations. docs/what_if.md has the
/// definitions. Below, T is the mean step time of the replay with recorded durations.
namespace megascope::whatif {

/// A part of the run, and the effect of its slowness on the step time.
struct Scenario {
  enum class Kind : std::uint8_t {
    kRank,       ///< one rank
    kGroup,      ///< the ranks of a parallel group
    kOperation,  ///< all operations of one name
    kAsked       ///< an entry of WhatIfOptions::asked; `name` is empty
  };
  Kind kind = Kind::kRank;
  std::string name;  ///< "rank 7", "dp 0", "forward-compute"
  double
      gain = 1.0;  ///< T / (T without the slowness of this part), which is the speed-up of the run
  double alone = 1.0;  ///< (T with only the slowness of this part) / (T without any slowness)
  double alone_at_mean = 1.0;  ///< (T with recorded durations for this part and typical durations
                               ///< for the rest) / (T with typical durations for all)
  double cost = 0.0;  ///< kAsked: this part's share of Loss::explained, as a fraction of the run's
                      ///< time
};

/// Something that may be slow: ranks, or transfers between pairs of ranks. Ranks are world ranks.
struct Asked {
  std::vector<std::int32_t> ranks;  ///< ascending
  std::vector<std::pair<std::int32_t, std::int32_t>> links =
      {};  ///< pairs of ranks, for transfers in either direction. If there are pairs, `ranks` is
           ///< ignored
  double factor = 1.0;  ///< the work takes `factor` times as long as it should. 1: only the
                        ///< comparison of operations of one type determines the slowness
  std::vector<std::int64_t> steps =
      {};  ///< the steps to which `factor` applies, as numbers of the application, ascending
};

/// Time lost by slowness, as fractions (0 to 1) of the run's time.
struct Loss {
  double total = 0.0;      ///< 1 - (T without any slowness) / T
  double explained = 0.0;  ///< 1 - (T without the slowness of all entries of `asked`) / T
};

/// Result of what_if(). Times in ns.
struct WhatIf {
  double slowdown = 1.0;  ///< T / (T with typical durations for all operations), at least 1. 1 if
                          ///< nothing was replayed
  double step_ns = 0.0;   ///< T: mean step time of the replay, without gaps between dependent
                          ///< operations
  double ideal_step_ns = 0.0;  ///< T with typical durations everywhere; at most step_ns
  double best_step_ns = 0.0;   ///< T without any slowness
  Loss loss;
  std::vector<std::int64_t> steps;       ///< the replayed steps: application's numbers
  std::vector<double> step_slowdowns;    ///< by step: time / time with typical durations
  std::vector<Scenario> scenarios;       ///< in descending order of gain
  std::vector<Scenario> asked;           ///< in the order of WhatIfOptions::asked
  std::vector<std::string> limitations;  ///< sentences: what was not replayed, and why

  /// Returns whether anything was replayed.
  bool is_there() const { return !steps.empty(); }
};

struct WhatIfOptions {
  GraphOptions graph;
  /// Largest number of scenarios of each kind (ranks, groups of one dimension, operations). Those
  /// that lose the most time by slowness are replayed. 0: only `asked` is replayed.
  std::size_t max_scenarios = 24;
  std::vector<Asked> asked = {};  ///< parts to replay in addition
  /// true: computes only Loss, and `gain` and `cost` of scenarios. Omits the replays with typical
  /// durations and those for Scenario::alone. slowdown and step_slowdowns are then 1.
  bool has_costs_only = false;
};

/// Replays a run and returns the effect of slow parts. Builds the graph, so it reads the records
/// twice. Groups are taken from the processes' coordinates in parallel groups
/// (ProcessInfo::parallel), if there are any. Throws what the source throws. If nothing can be
/// replayed, is_there() is false and `limitations` states the reason.
WhatIf what_if(const RecordSource& source, const analysis::MatchTables& tables,
               const WhatIfOptions& options = {});
/// Replays a graph that was built from `source`, and returns the effect of slow parts. Does not
/// read calls.
WhatIf what_if(const PreparedGraph& prepared, const RecordSource& source,
               const WhatIfOptions& options = {});
/// Replays a graph, and returns the effect of slow parts. groups: by index in world_ranks, the
/// names of the groups that the rank belongs to, as "dimension index" ("dp 0").
WhatIf what_if(const PreparedGraph& prepared, const std::vector<std::vector<std::string>>& groups,
               const WhatIfOptions& options = {});
/// Prepares the graph, which removes its cyclic dependencies, and then calls the function above.
WhatIf what_if(OperationGraph& graph, const std::vector<std::vector<std::string>>& groups,
               const WhatIfOptions& options = {});

}  // namespace megascope::whatif
