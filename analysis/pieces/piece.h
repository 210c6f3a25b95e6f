#pragma once

#include "analysis/detect/step_finder.h"
#include "analysis/match/match_tables.h"
#include "core/record/source.h"

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace megascope::pieces {

/// A stretch of a location's time: work, or a call that may wait for other ranks.
struct Piece {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t kind = 0;  ///< equal where pieces do the same
  std::int64_t step = -1;  ///< the program's own number
  std::uint32_t name = 0;  ///< in Names
  std::uint32_t track = 0;
  bool is_work = true;
  bool continues = false;  ///< of the operation that the piece before it on the track was cut from,
                           ///< but for what it encloses
};

/// Names of kinds of pieces, each once for the run.
class Names {
 public:
  std::uint32_t of(const std::string& name) {
    const auto [at, is_new] = index_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<std::string> names_;
};

/// Converts operations that a program or another tool recorded as regions with a step to pieces, in
/// order of begin on each location. Work that encloses other operations is cut around them. Time
/// outside of all regions is in no piece.
void region_pieces(const RecordSource& source, const analysis::MatchTables& tables,
                   std::size_t process_index, Names& names, std::vector<Piece>& pieces);

/// Returns whether the run's records are operations recorded as regions, and not MPI calls.
bool is_of_regions(const RecordSource& source);

}  // namespace megascope::pieces
