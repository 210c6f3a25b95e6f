#include <algorithm>

#include "analysis/detect/step_finder.h"
#include "analysis/pieces/piece.h"
#include "core/record/hash.h"
#include "core/record/mpi_calls.h"

namespace megascope::pieces {
namespace {

/// Collects one step, and gives its pieces their kinds when all of its calls are known.
class StepPieces {
 public:
  StepPieces(std::uint32_t track, const std::vector<bool>& is_kept, std::vector<Piece>& pieces)
      : track_(track), is_kept_(is_kept), pieces_(pieces) {}

  bool is_wanted() const { return is_kept_[static_cast<std::size_t>(step_)]; }

  void add(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t name, bool is_work) {
    pieces_.push_back({begin_ns, end_ns, 0, step_, name, track_, is_work, false});
    if (!is_work) hash_ = combined(hash_, name);
  }
  void end() {
    for (std::size_t i = first_; i < pieces_.size(); ++i) pieces_[i].kind = combined(hash_, i - first_);
    first_ = pieces_.size();
    hash_ = 0;
    ++step_;
  }
  /// What is behind the last step's end is left out.
  void finish() { pieces_.resize(first_); }

 private:
  std::uint32_t track_;
  const std::vector<bool>& is_kept_;
  std::vector<Piece>& pieces_;
  std::size_t first_ = 0;
  std::int64_t step_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace

void program_pieces(const RecordSource& source, const analysis::MatchTables& tables, std::size_t process_index,
                    const detect::StepTimes& steps, const std::vector<bool>& is_kept, Names& names, std::vector<Piece>& pieces) {
  const std::int32_t rank = source.world_ranks()[process_index];
  const ProcessDefinitions& process = source.process(rank);
  const std::vector<std::uint64_t>& end_ns = steps.ends_ns;
  if (process.locations.empty() || end_ns.empty()) return;
  const LocationId location = detect::judged_location(process);
  const std::uint32_t work = names.of("work between MPI calls");
  std::vector<std::uint32_t> name_of;
  for (const RegionDefinition& region : process.regions) {
    if (name_of.size() <= region.id) name_of.resize(std::size_t{region.id} + 1, work);
    name_of[region.id] = names.of(region.name);
  }
  std::vector<Piece> own;
  StepPieces step(tables.first_track(process_index) + location, is_kept, own);
  const auto calls = mpi_calls(source, rank, location);
  std::uint64_t last_ns = 0;
  std::size_t ended = 0;
  const auto is_told = !steps.begins_ns.empty();
  for (Call call; ended < end_ns.size() && calls->next(call);) {
    if (call.depth != 0 || call.is_pending || call.region >= name_of.size()) continue;
    for (; is_told && ended < end_ns.size() && call.enter_ns > end_ns[ended]; ++ended) {  // its last work
      last_ns = std::max(last_ns, steps.begin_of(ended));
      if (step.is_wanted()) step.add(last_ns, std::max(end_ns[ended], last_ns), work, true);
      last_ns = std::max(last_ns, end_ns[ended]);
      step.end();
    }
    if (ended == end_ns.size()) break;
    if (is_told && call.enter_ns < steps.begin_of(ended)) continue;  // between steps
    if (is_told) last_ns = std::max(last_ns, steps.begin_of(ended));
    if (last_ns != 0 && step.is_wanted()) {
      step.add(last_ns, std::max(call.enter_ns, last_ns), work, true);
      step.add(call.enter_ns, call.leave_ns, name_of[call.region], false);
    }
    last_ns = call.leave_ns;
    for (; ended < end_ns.size() && call.leave_ns >= end_ns[ended]; ++ended) step.end();
  }
  step.finish();
  pieces.insert(pieces.end(), own.begin(), own.end());
}

}  // namespace megascope::pieces
