#pragma once

#include "analysis/import/repairs.h"
#include "core/record/call.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Timelines of training jobs as other tools write them, in one form.
namespace megascope::importer {

inline constexpr std::int32_t kUnknown = -1;

/// Where a worker stands in the grid of parallel groups; kUnknown where the file does not say.
struct GridCoordinates {
  std::int32_t dp = kUnknown;
  std::int32_t pp = kUnknown;
  std::int32_t tp = kUnknown;
  std::int32_t rank = kUnknown;  ///< in the world, where the file says that instead

  bool operator==(const GridCoordinates&) const = default;
};

/// A row of a worker's timeline: a stream of the device, a thread.
struct Track {
  GridCoordinates coordinates;
  std::string stream;                   ///< "compute", "pp-comm"; may be empty
  std::int32_t world_rank = kUnknown;   ///< where the file says it beside the place
  std::int32_t definitions = kUnknown;  ///< in Timeline::definitions; of tracks of one worker equal
};

/// What the file of a worker defines. Only those do that `megascope export` wrote.
struct SpecifiedDefinitions {
  std::string host;
  std::vector<CommDefinition> comms;  ///< ascending id, without holes
};

/// What an operation did, in Timeline::facts.
struct SpecifiedFacts {
  std::size_t first = 0;
  std::size_t count = 0;
};

struct Operation {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t bytes = 0;  ///< sent and received; 0: not told
  std::uint32_t name = 0;   ///< in Timeline::names
  std::uint32_t track = 0;  ///< in Timeline::tracks
  std::int32_t step = kUnknown;
  std::int32_t micro_batch = kUnknown;
  std::int32_t model_chunk = kUnknown;
  std::int32_t sequence = kUnknown;  ///< among the operations of its name in the step, where the
                                     ///< file counts them
  std::uint32_t specified = 0;  ///< 1 + its place in Timeline::told; 0: the file does not tell what
                                ///< it did, its name does
  bool is_pair = false;         ///< its begin and its end are events of their own
  bool may_repeat = false;      ///< another that is equal is another one: the file's clock is too
                                ///< coarse to tell them apart

  bool operator==(const Operation&) const = default;
};

/// An operation whose begin or end has to be estimated.
struct Estimate {
  enum class Of : std::uint8_t {
    kEnd,    ///< it is not known; the operation's end is its begin
    kBegin,  ///< it is not known; the operation's begin is its end
    kSign,   ///< the end is where a duration that was negative would end; plausible where others of
             ///< its name last as long
  };
  std::uint32_t operation = 0;  ///< in Timeline::operations as they were read
  Of of = Of::kEnd;
};

/// All of a job, on one clock.
struct Timeline {
  std::vector<std::string> names;
  std::vector<Track> tracks;
  std::vector<Operation> operations;  ///< in no order
  std::vector<std::string> notes;     ///< what was left out or assumed; sentences
  std::string source;                 ///< the file or directory, as the user named it
  std::vector<RegionDefinition>
      regions;  ///< by name, as far as files define them: those without a name are not defined
  std::vector<SpecifiedDefinitions> definitions;
  std::vector<SpecifiedFacts> specified;
  std::vector<Fact> facts;
  Repairs repairs;
  std::vector<Estimate> estimates;  ///< before mend()
  bool has_common_clock = true;  ///< false: each rank has a clock of its own, never compared with
                                 ///< others
  bool has_grid = true;          ///< false: ranks are ranks, of no parallel groups
  GridCoordinates sizes{0, 0, 0, kUnknown};  ///< of the grid, as far as files tell them; else 0

  /// The number of a name, a new one where it was not there yet.
  std::uint32_t name_index(std::string_view name);
  bool has_name(const std::string& name) const { return index_of_.contains(name); }

 private:
  std::unordered_map<std::string, std::uint32_t> index_of_;
};

}  // namespace megascope::importer
