#include "plugin/answer/verdict.h"

#include "core/base/clock.h"
#include "core/trace/run_files.h"
#include "plugin/answer/answer.h"
#include "plugin/answer/bounded_source.h"
#include "plugin/answer/collective_words.h"

#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace megascope::answer {
namespace {

/// Returns an error with the reason if a run cannot be judged; ok otherwise.
Status check(const trace::RunSource& run) {
  std::vector<std::int32_t> cut_short;
  for (const std::int32_t rank : run.world_ranks()) {
    const ProcessInfo& info = run.process(rank).info;
    if (info.end_state != EndState::kFinalized || info.is_standalone) cut_short.push_back(rank);
  }
  const std::size_t here = run.world_ranks().size();
  if (here != static_cast<std::size_t>(run.world_size())) {
    return Status::error("the traces of " + std::to_string(here) + " of " +
                         std::to_string(run.world_size()) + " ranks are in the run directory");
  }
  if (!cut_short.empty())
    return Status::error("the trace of " + ranks_text(cut_short) + " is not whole");
  return ranks_of_other_runs(run).empty()
             ? Status::ok()
             : Status::error("traces of different runs are in the run directory");
}

Status find(const VerdictJob& job, std::string& text) {
  const std::uint64_t until_ns = clock::monotonic_ns() + job.max_ns;
  std::unique_ptr<trace::RunSource> run;
  std::vector<std::string> problems;
  Status status = trace::RunSource::open(job.directory, {}, run, problems);
  if (status.is_ok()) status = check(*run);
  if (!status.is_ok()) return status;
  const BoundedSource bounded(*run, until_ns);
  const Answer answer(bounded, run->time(), {});
  text = verdict_text(answer.view());
  return Status::ok();
}

}  // namespace

Status make_verdict(const VerdictJob& job, std::string& text) {
  try {
    return find(job, text);
  } catch (const TimeIsUp&) {
    text.clear();
    return Status::ok();
  } catch (const std::exception& error) {
    return Status::error(error.what());
  }
}

}  // namespace megascope::answer
