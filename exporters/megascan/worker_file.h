#pragma once

#include "core/base/status.h"
#include "core/record/source.h"
#include "exporters/common/joint_file.h"
#include "exporters/common/json_text.h"
#include "exporters/megascan/coordinates.h"
#include "exporters/megascan/fact_text.h"
#include "exporters/megascan/iterations.h"
#include "exporters/megascan/one_stack.h"
#include "exporters/megascan/tally.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::megascan {

/// Writes the rows of one rank: a JSON array of objects, one a line. All iterations of the run are
/// written, even if the rank has no call in some. The exit row of a call has all its attributes, as
/// in MegaScan.
///
/// Attributes in addition to MegaScan's: `step` and `begin_ns` (since the start of the run) of an
/// iteration; `stream`, if the thread is not that of the row "process"; `uncut_begin` and
/// `uncut_end` of calls that are shown shorter; `unfinished`; the additional attributes of
/// FactText.
class WorkerFile {
 public:
  /// All arguments must outlive this object.
  WorkerFile(const RecordSource& source, std::int32_t world_rank,
             const GridCoordinates& coordinates, const Iterations& iterations,
             timeline::JointFile& file);

  /// Writes all rows. progress: called periodically with the number of calls since the last time;
  /// may be empty.
  void write(const std::function<void(std::uint64_t)>& progress, Tally& tally);

 private:
  /// A call, and the position in details_ of its exit attributes.
  struct Operation {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::size_t details_at = 0;
    std::uint32_t details_bytes = 0;
    std::uint32_t iteration = 0;
    LocationId location = 0;
    RegionId region = kNoRegion;
    bool is_work = false;
  };

  void collect(const std::function<void(std::uint64_t)>& progress, Tally& tally);
  void add(const timeline::Event& event, std::int32_t step, Tally& tally);
  void write_iteration(std::size_t index, std::span<const std::uint32_t> operations, Tally& tally);
  void write_exit(const Slice& shown, std::uint64_t start_ns, Tally& tally);
  void write_definitions();
  void write_process();
  void write_region(const RegionDefinition& region);
  void write_comm(const CommDefinition& comm);
  void write_ranks(std::string_view key, const std::vector<RankRun>& runs);
  timeline::JsonText& begin_row(std::string_view name, char phase);
  void add_time(std::uint64_t time_ns);
  void end_row();
  void flush();

  const RecordSource& source_;
  const ProcessDefinitions& process_;
  std::int32_t world_rank_;
  const GridCoordinates& coordinates_;
  const Iterations& iterations_;
  timeline::JointFile& file_;
  FactText facts_;
  std::string coordinates_text_;      ///< the coordinates as JSON members, which every row contains
  std::vector<std::string> names_;    ///< escaped region names, by RegionId
  std::vector<bool> is_work_;         ///< by RegionId
  std::vector<std::string> streams_;  ///< escaped location names
  LocationId main_ = 0;
  std::vector<Operation> operations_;  ///< in order of begin
  timeline::JsonText details_;
  timeline::JsonText text_;
  std::uint64_t row_count_ = 0;
};

}  // namespace megascope::megascan
