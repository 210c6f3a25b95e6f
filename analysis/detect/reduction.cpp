#include "analysis/detect/reduction.h"

#include "analysis/common/workers.h"
#include "analysis/detect/rank_list.h"
#include "analysis/detect/rank_reader.h"
#include "analysis/detect/step_finder.h"
#include "core/record/mpi_calls.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace megascope::detect {
namespace {

constexpr double kMinShareOfSteps = 0.8;
constexpr std::uint64_t kMinCalls = 256;  ///< calls that are read of a rank at a time: enough that
                                          ///< waking threads costs little

StepTimes times_of(const RankSteps& rank, const RankMarks& marks) {
  StepTimes times;
  times.begin_ns = rank.begin_ns;
  if (marks.begin_ns != nullptr) {
    const std::size_t count = std::min(marks.begin_ns->size(), rank.steps.size());
    times.begins_ns.assign(marks.begin_ns->begin(),
                           marks.begin_ns->begin() + static_cast<std::ptrdiff_t>(count));
  }
  for (const StepRow& row : rank.steps) {
    times.ends_ns.push_back(row.end_ns);
    times.call_count += row.call_count;
  }
  return times;
}

/// Removes ranks whose number of steps differs much from the median, and steps that not all other
/// ranks have.
void keep_comparable(std::vector<RankSteps>& ranks, std::vector<Link>& links, Reduced& result) {
  std::vector<std::size_t> counts;
  for (const RankSteps& rank : ranks) counts.push_back(rank.steps.size());
  std::sort(counts.begin(), counts.end());
  const std::size_t usual = counts.empty() ? 0 : counts[counts.size() / 2];
  std::vector<std::int32_t> left_out;
  std::vector<std::size_t> new_index(ranks.size(), SIZE_MAX);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto count = static_cast<double>(ranks[i].steps.size());
    const bool is_usual = usual > 0 && count >= kMinShareOfSteps * static_cast<double>(usual) &&
                          count * kMinShareOfSteps <= static_cast<double>(usual);
    if (!is_usual) {
      left_out.push_back(ranks[i].world_rank);
      continue;
    }
    new_index[i] = result.ranks.size();
    result.step_count = result.ranks.empty() ? ranks[i].steps.size()
                                             : std::min(result.step_count, ranks[i].steps.size());
    result.ranks.push_back(std::move(ranks[i]));
  }
  for (Link& link : links) {
    link.from = new_index[link.from];
    link.to = new_index[link.to];
    if (link.from == SIZE_MAX || link.to == SIZE_MAX) continue;
    link.steps.resize(result.step_count);
    result.links.push_back(std::move(link));
  }
  if (usual == 0)
    result.limitations.emplace_back("no steps were found: no call repeats at regular intervals");
  else if (!left_out.empty())
    result.limitations.push_back(
        "not judged, since their steps could not be inferred or are too few: ranks " +
        rank_list(left_out));
}

/// Adds a sentence on ranks in which other threads make MPI calls, too: these threads are not
/// judged.
void note_threads(const RecordSource& source, Reduced& result) {
  std::vector<std::int32_t> ranks;
  for (const std::int32_t world_rank : source.world_ranks()) {
    const ProcessDefinitions& process = source.process(world_rank);
    const LocationId judged = judged_location(process);
    const bool has_others = std::any_of(
        process.locations.begin(), process.locations.end(),
        [&](const LocationDefinition& location) {
          Call call;
          return location.id != judged && mpi_calls(source, world_rank, location.id)->next(call);
        });
    if (has_others) ranks.push_back(world_rank);
  }
  if (!ranks.empty())
    result.limitations.push_back(
        "only the main threads are judged: others make calls too on ranks " + rank_list(ranks));
}

}  // namespace

Reduced reduce(const RecordSource& source, const Options& options) {
  const std::vector<std::int32_t>& world_ranks = source.world_ranks();
  std::vector<std::int32_t> index_of(static_cast<std::size_t>(std::max(source.world_size(), 0)),
                                     -1);
  for (std::size_t i = 0; i < world_ranks.size(); ++i) {
    const auto at = static_cast<std::size_t>(world_ranks[i]);
    if (at >= index_of.size()) index_of.resize(at + 1, -1);
    index_of[at] = static_cast<std::int32_t>(i);
  }
  std::vector<std::unique_ptr<RankReader>> readers(world_ranks.size());
  const bool is_known = options.steps != nullptr &&
                        options.steps->end_ns.size() >= world_ranks.size();
  const std::vector<StepMarker> markers = is_known ? std::vector<StepMarker>(world_ranks.size())
                                                   : find_step_markers(source, options.jobs);
  analysis::Workers workers(std::max(options.jobs, 1U));
  workers.for_each(readers.size(), [&](std::size_t i) {
    readers[i] = std::make_unique<RankReader>(source, world_ranks[i], index_of,
                                              marks_of(options.steps, i), markers[i]);
  });
  Transfers transfers;
  for (std::atomic<bool> goes_on = true; goes_on;) {
    goes_on = false;
    workers.for_each(readers.size(), [&](std::size_t i) {
      if (readers[i]->read_steps(kMinCalls)) goes_on = true;
    });
    for (const auto& reader : readers) transfers.add(reader->transfers());
  }
  std::vector<RankSteps> ranks;
  for (const auto& reader : readers) ranks.push_back(reader->take());
  std::vector<Link> links = options.links != nullptr ? *options.links : transfers.take_links();
  Reduced result;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    result.steps.push_back(times_of(ranks[i], marks_of(options.steps, i)));
  keep_comparable(ranks, links, result);
  note_threads(source, result);
  return result;
}

}  // namespace megascope::detect
