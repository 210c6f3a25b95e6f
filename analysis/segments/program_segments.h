#pragma once

#include "analysis/detect/step_times.h"
#include "analysis/match/match_tables.h"
#include "analysis/segments/segment.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace megascope::segments {

/// Converts the calls of one process of an MPI program to segments: a segment of work and a segment
/// for the call, in turn. Reads the judged location (detect::judged_location()). Two segments have
/// the same kind if they have the same position in steps with the same sequence of calls. One
/// thread.
class ProgramSegments {
 public:
  /// process_index: index in world_ranks(). steps: the steps of the process. is_kept: by step;
  /// steps with false give no segments. names: shared by all processes; the names of regions are
  /// added to it. Time outside of annotated steps gives no segments. `steps` and `is_kept` must
  /// outlive the object.
  ProgramSegments(const RecordSource& source, const analysis::MatchTables& tables,
                  std::size_t process_index, const detect::StepTimes& steps,
                  const std::vector<bool>& is_kept, Names& names);

  /// The track of the judged location.
  analysis::Track track() const { return track_; }
  /// Adds the next call of the location, in order of entry. Returns whether segments were added;
  /// the last one is then the call's. Ignores nested calls and pending calls.
  bool add(const Call& call);
  /// Segments added so far, including the current step's.
  std::size_t added_count() const { return segments_.size(); }
  /// Returns the segments of all steps that have ended. Call once, last.
  std::vector<Segment> take() {
    segments_.resize(first_);
    return std::move(segments_);
  }

 private:
  bool is_wanted() const { return is_kept_[ended_]; }
  void push(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t name, bool is_work);
  void end_annotated_step();
  void end_step();

  analysis::Track track_ = 0;
  const detect::StepTimes& steps_;
  const std::vector<bool>& is_kept_;
  std::uint32_t work_ = 0;              ///< name of segments of work
  std::vector<std::uint32_t> name_of_;  ///< by RegionId: index in Names
  std::vector<Segment> segments_;
  std::size_t first_ = 0;      ///< index of the first segment of the current step
  std::size_t ended_ = 0;      ///< number of steps that have ended
  std::uint64_t hash_ = 0;     ///< hash of the calls of the current step
  std::uint64_t last_ns_ = 0;  ///< return of the previous call; 0: none yet
};

}  // namespace megascope::segments
