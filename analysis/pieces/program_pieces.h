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

/// Makes pieces of one process of a program that calls MPI, of its judged location: calls, and the
/// work between them. Pieces do the same when they have the same place in steps of the same calls.
class ProgramPieces {
 public:
  /// What lies before told steps, between them or behind the last end is left out, and so are steps
  /// that are not kept (by step). Both outlive the object.
  ProgramPieces(const RecordSource& source, const analysis::MatchTables& tables,
                std::size_t process_index, const detect::StepTimes& steps,
                const std::vector<bool>& is_kept, Names& names);

  analysis::Track track() const { return track_; }
  /// The next call of the location, in order of entry. True: its piece was added as the last one.
  bool add(const Call& call);
  std::size_t added_count() const { return pieces_.size(); }
  /// Of ended steps. Once.
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
  std::uint32_t work_ = 0;              ///< name of work
  std::vector<std::uint32_t> name_of_;  ///< by RegionId
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;      ///< piece of the step that goes on
  std::size_t ended_ = 0;      ///< steps
  std::uint64_t hash_ = 0;     ///< of the step's calls
  std::uint64_t last_ns_ = 0;  ///< return of the call before
};

}  // namespace megascope::pieces
