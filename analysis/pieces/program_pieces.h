#pragma once

#include "analysis/detect/step_times.h"
#include "analysis/match/match_tables.h"
#include "analysis/pieces/piece.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace megascope::pieces {

/// Converts the calls of one process of an MPI program to pieces: a piece of work and a piece for
/// the call, in turn. Reads the judged location (detect::judged_location()). Two pieces have the
/// same kind if they have the same position in steps with the same sequence of calls. One thread.
class ProgramPieces {
 public:
  /// process_index: index in world_ranks(). steps: the steps of the process. is_kept: by step;
  /// steps with false give no pieces. names: shared by all processes; the names of regions are
  /// added to it. Time outside of annotated steps gives no pieces. `steps` and `is_kept` must
  /// outlive the object.
  ProgramPieces(const RecordSource& source, const analysis::MatchTables& tables,
                std::size_t process_index, const detect::StepTimes& steps,
                const std::vector<bool>& is_kept, Names& names);

  /// The track of the judged location.
  analysis::Track track() const { return track_; }
  /// Adds the next call of the location, in order of entry. Returns whether pieces were added; the
  /// last one is then the call's. Ignores nested calls and pending calls.
  bool add(const Call& call);
  /// Pieces added so far, including the current step's.
  std::size_t added_count() const { return pieces_.size(); }
  /// Returns the pieces of all steps that have ended. Call once, last.
  std::vector<Piece> take() {
    pieces_.resize(first_);
    return std::move(pieces_);
  }

 private:
  bool is_wanted() const { return is_kept_[ended_]; }
  void push(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t name, bool is_work);
  void end_annotated_step();
  void end_step();

  analysis::Track track_ = 0;
  const detect::StepTimes& steps_;
  const std::vector<bool>& is_kept_;
  std::uint32_t work_ = 0;              ///< name of pieces of work
  std::vector<std::uint32_t> name_of_;  ///< by RegionId: index in Names
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;      ///< index of the first piece of the current step
  std::size_t ended_ = 0;      ///< number of steps that have ended
  std::uint64_t hash_ = 0;     ///< hash of the calls of the current step
  std::uint64_t last_ns_ = 0;  ///< return of the previous call; 0: none yet
};

}  // namespace megascope::pieces
