#include "analysis/segments/program_segments.h"

#include "analysis/detect/step_finder.h"
#include "core/base/hash.h"

#include <algorithm>

namespace megascope::segments {

ProgramSegments::ProgramSegments(const RecordSource& source, const analysis::MatchTables& tables,
                                 std::size_t process_index, const detect::StepTimes& steps,
                                 const std::vector<bool>& is_kept, Names& names)
    : steps_(steps), is_kept_(is_kept), work_(names.of("work between MPI calls")) {
  const ProcessDefinitions& process = source.process(source.world_ranks()[process_index]);
  track_ = tables.first_track(process_index) +
           (process.locations.empty() ? 0 : detect::judged_location(process));
  for (const RegionDefinition& region : process.regions) {
    if (name_of_.size() <= region.id) name_of_.resize(std::size_t{region.id} + 1, work_);
    name_of_[region.id] = names.of(region.name);
  }
}

bool ProgramSegments::add(const Call& call) {
  const std::vector<std::uint64_t>& end_ns = steps_.ends_ns;
  if (ended_ == end_ns.size() || call.depth != 0 || call.is_pending ||
      call.region >= name_of_.size())
    return false;
  if (steps_.is_annotated()) {
    while (ended_ < end_ns.size() && call.enter_ns > end_ns[ended_]) end_annotated_step();
    if (ended_ == end_ns.size() || call.enter_ns < steps_.begin_of(ended_))
      return false;  // between steps
    last_ns_ = std::max(last_ns_, steps_.begin_of(ended_));
  }
  const bool is_added = last_ns_ != 0 && is_wanted();
  if (is_added) {
    push(last_ns_, std::max(call.enter_ns, last_ns_), work_, true);
    push(call.enter_ns, call.leave_ns, name_of_[call.region], false);
  }
  last_ns_ = call.leave_ns;
  for (; ended_ < end_ns.size() && call.leave_ns >= end_ns[ended_]; ++ended_) end_step();
  return is_added;
}

void ProgramSegments::push(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t name,
                           bool is_work) {
  segments_.push_back(
      {begin_ns, end_ns, 0, static_cast<std::int64_t>(ended_), name, track_, is_work, false});
  if (!is_work) hash_ = combined(hash_, name);
}

/// An annotated step ends with a segment of work.
void ProgramSegments::end_annotated_step() {
  const std::uint64_t end_ns = steps_.ends_ns[ended_];
  last_ns_ = std::max(last_ns_, steps_.begin_of(ended_));
  if (is_wanted()) push(last_ns_, std::max(end_ns, last_ns_), work_, true);
  last_ns_ = std::max(last_ns_, end_ns);
  end_step();
  ++ended_;
}

/// All calls of the step are known now: assigns kinds to its segments.
void ProgramSegments::end_step() {
  for (std::size_t i = first_; i < segments_.size(); ++i)
    segments_[i].kind = combined(hash_, i - first_);
  first_ = segments_.size();
  hash_ = 0;
}

}  // namespace megascope::segments
