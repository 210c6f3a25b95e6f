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

/// The form to which the readers of all formats convert timelines of training jobs. Times in ns.
namespace megascope::importer {

inline constexpr std::int32_t kUnknown = -1;

/// Coordinates of a worker in the grid of parallel groups; kUnknown if the file does not contain
/// them.
struct GridCoordinates {
  std::int32_t dp = kUnknown;
  std::int32_t pp = kUnknown;
  std::int32_t tp = kUnknown;
  std::int32_t rank = kUnknown;  ///< world rank, if the file has it instead of coordinates

  bool operator==(const GridCoordinates&) const = default;
};

/// A row of a worker's timeline: a device stream or a thread.
struct Track {
  GridCoordinates coordinates;
  std::string stream;                  ///< "compute", "pp-comm"; may be empty
  std::int32_t world_rank = kUnknown;  ///< if the file has it in addition to coordinates
  std::int32_t
      definitions = kUnknown;  ///< index in Timeline::definitions; equal for all tracks of a worker
};

/// The definitions of a worker. Files that `megascope export` wrote contain them. For PyTorch, they
/// are derived from the calls (kineto_calls.h).
struct SpecifiedDefinitions {
  std::string host;
  std::vector<CommDefinition> comms;  ///< ascending id, without holes
};

/// The facts of an operation: a range of Timeline::facts.
struct SpecifiedFacts {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// An operation of a track: computation or communication.
struct Operation {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t bytes = 0;  ///< bytes sent and received; 0: unknown
  std::uint32_t name = 0;   ///< index in Timeline::names
  std::uint32_t track = 0;  ///< index in Timeline::tracks
  std::int32_t step = kUnknown;
  std::int32_t micro_batch = kUnknown;
  std::int32_t model_chunk = kUnknown;
  std::int32_t sequence = kUnknown;  ///< number of the operation among those of the same name in
                                     ///< the step, if the file has it
  std::uint32_t specified = 0;  ///< 1 + index in Timeline::specified. 0: the file has no facts of
                                ///< this operation, and they are derived from its name
  bool is_pair = false;         ///< true: begin and end are separate events in the file
  bool may_repeat = false;  ///< true: an equal operation is not a duplicate, because the clock of
                            ///< the file is too coarse to distinguish the two

  bool operator==(const Operation&) const = default;
};

/// An operation whose begin or end has to be estimated.
struct Estimate {
  enum class Of : std::uint8_t {
    kEnd,    ///< the end is unknown; end_ns equals begin_ns
    kBegin,  ///< the begin is unknown; begin_ns equals end_ns
    kSign,  ///< the duration was negative, and end_ns was computed from its absolute value. The end
            ///< is estimated anew if operations of the same name do not last about as long
  };
  std::uint32_t operation = 0;  ///< index in Timeline::operations before sorting
  Of of = Of::kEnd;
};

/// The timeline of a job.
struct Timeline {
  std::vector<std::string> names;
  std::vector<Track> tracks;
  std::vector<Operation> operations;      ///< unordered before mend()
  std::vector<std::string> notes;         ///< sentences for the user: omissions and assumptions
  std::string source;                     ///< the file or directory, as the user named it
  std::vector<RegionDefinition> regions;  ///< by name index: the region, if the file defines it.
                                          ///< Entries without a name are undefined
  std::vector<SpecifiedDefinitions> definitions;
  std::vector<SpecifiedFacts> specified;
  std::vector<Fact> facts;
  Repairs repairs;
  std::vector<Estimate> estimates;  ///< used and emptied by mend()
  bool has_common_clock = true;     ///< false: ranks have separate clocks that were not compared
  bool has_grid = true;             ///< false: ranks do not belong to parallel groups
  GridCoordinates sizes{0, 0, 0,
                        kUnknown};  ///< sizes of the grid, if files contain them. 0: unknown

  /// Returns the index of a name. Adds the name if it is new.
  std::uint32_t name_index(std::string_view name);
  bool has_name(const std::string& name) const { return index_of_.contains(name); }

 private:
  std::unordered_map<std::string, std::uint32_t> index_of_;
};

}  // namespace megascope::importer
