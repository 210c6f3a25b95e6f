#include "plugin/cli/run_directory/run_share.h"

#include "core/base/text.h"
#include "plugin/cli/common/fork_collective.h"
#include "plugin/cli/common/say.h"

#include <algorithm>
#include <numeric>

namespace megascope::cli {

std::vector<std::size_t> divide(const std::vector<std::uint64_t>& weights, std::size_t part_count) {
  const auto all = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::size_t> firsts = {0};
  std::uint64_t before = 0;
  for (std::size_t i = 1; i < weights.size() && firsts.size() < part_count; ++i) {
    before += weights[i - 1];
    const std::size_t parts_left = part_count - firsts.size();
    const bool is_due = before * part_count >= all * firsts.size();
    const bool is_last_chance = weights.size() - i == parts_left;
    if (is_due || is_last_chance) firsts.push_back(i);
  }
  return firsts;
}

std::size_t member_count(int wanted, std::size_t rank_count) {
  const int count = wanted > 0 ? wanted : usable_processor_count();
  return std::max<std::size_t>(1, std::min(rank_count, static_cast<std::size_t>(count)));
}

RunShare share_of(const trace::RunSource& run, const RecordSource& seen, std::size_t member,
                  std::size_t members) {
  const std::vector<std::int32_t>& ranks = run.world_ranks();
  std::vector<std::uint64_t> weights;
  for (const std::int32_t rank : ranks) weights.push_back(run.file(rank).used_bytes());
  const std::vector<std::size_t> firsts = divide(weights, members);
  const auto begin = ranks.begin() + static_cast<std::ptrdiff_t>(firsts[member]);
  const auto end = member + 1 < firsts.size()
                       ? ranks.begin() + static_cast<std::ptrdiff_t>(firsts[member + 1])
                       : ranks.end();
  return RunShare(seen, std::vector<std::int32_t>(begin, end));
}

Status open_run(const std::string& directory_path, std::unique_ptr<trace::RunSource>& run) {
  trace::OpenDirectory directory;
  const Status status = trace::open_given_directory(directory_path, directory);
  return status.is_ok() ? open_run(directory, run) : status;
}

Status open_run(const trace::OpenDirectory& directory_path,
                std::unique_ptr<trace::RunSource>& run) {
  std::vector<std::string> problems;
  const Status status = trace::RunSource::open(directory_path, {}, run, problems);
  for (const std::string& problem : problems) say(problem);
  if (status.is_ok()) return status;
  trace::RunId id;
  if (!trace::read_run_id(directory_path.base(), id)) return status;
  return Status::error(status.message() + "; if the run was killed, run `megascope recover " +
                       shell_quoted(directory_path.path) + "` on its nodes to recover its traces");
}

}  // namespace megascope::cli
