#include "core/trace/run_files.h"

#include "core/trace/scratch_home.h"

#include <algorithm>
#include <unistd.h>

namespace megascope::trace {
namespace {

constexpr char kTracePrefix[] = "rank-";
constexpr char kTraceSuffix[] = ".mgt";

}  // namespace

std::string trace_file_name(std::int32_t world_rank) {
  return kTracePrefix + std::to_string(world_rank) + kTraceSuffix;
}

bool is_trace_file_name(std::string_view name) {
  return name.starts_with(kTracePrefix) && name.ends_with(kTraceSuffix);
}

std::vector<std::string> find_traces(const std::string& directory_path) {
  std::vector<std::string> found;
  OpenDirectory run;
  if (!open_given_directory(directory_path, run).is_ok()) return found;
  for_each_trace(run, [&](const files::Base& directory, const std::string& name) {
    found.push_back(directory.path + "/" + name);
  });
  return found;
}

std::string scratch_directory_of(const std::string& scratch, const std::string& run_id) {
  return scratch + "/megascope-" + std::to_string(geteuid()) + "/" + run_id;
}

namespace {

constexpr std::size_t kMaxRunIdBytes = std::size_t{1} << 20;  // a list of nodes may be long

/// Removes the next line from `text`. Returns false if there is none.
bool next_line(std::string_view& text, std::string& line) {
  if (text.empty()) return false;
  const std::size_t end = std::min(text.find('\n'), text.size());
  line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return true;
}

/// Returns whether the id can be the name of a directory in scratch storage.
bool is_usable_id(const std::string& id) {
  return !id.empty() && id != "." && id != ".." && id.find('/') == std::string::npos;
}

bool parse_run_id(std::string_view text, RunId& result) {
  const bool is_whole = next_line(text, result.id) && next_line(text, result.scratch);
  if (!is_whole || !is_usable_id(result.id)) return false;
  result.scratch_directory = scratch_directory_of(result.scratch, result.id);
  result.nodes.clear();
  next_line(text, result.nodes);  // absent in older runs
  std::string node;
  std::string directory;
  next_line(text, node);
  // If the usual name was taken, the run has a directory of its own (scratch_home.h).
  if (next_line(text, directory) && directory.starts_with('/') &&
      directory.ends_with("/" + result.id))
    result.scratch_directory = directory;
  return true;
}

}  // namespace

/// The readable traces of a run.
struct RunSource::Traces {
  std::vector<std::unique_ptr<TraceFile>> files;
  std::vector<std::string>& problems;

  void add(const OpenDirectory& directory) {
    for_each_trace(directory, [this](const files::Base& base, const std::string& name) {
      std::unique_ptr<TraceFile> file;
      const Status status = TraceFile::open(base, name, file);
      if (status.is_ok())
        files.push_back(std::move(file));
      else
        problems.push_back(status.message());
    });
  }

  /// Adds the traces of this run id that this user has in this node's scratch storage.
  void add_from_scratch(const OpenDirectory& part) {
    RunId id;
    std::vector<std::string> ignored;
    if (!read_run_id(part.base(), id)) return;
    for (const OpenDirectory& home : open_scratch_homes(id.scratch, ignored)) {
      OpenDirectory run;
      if (open_scratch_run(home.base(), id.id, run, ignored)) add(run);
    }
  }
};

bool read_run_id(const std::string& directory_path, RunId& result) {
  std::string text;
  return files::read_small(directory_path + "/" + kRunIdFile, kMaxRunIdBytes, text).is_ok() &&
         parse_run_id(text, result);
}

bool read_run_id(const files::Base& directory_path, RunId& result, files::Owner owner) {
  std::string text;
  return files::read_small(directory_path, kRunIdFile, kMaxRunIdBytes, text, owner).is_ok() &&
         parse_run_id(text, result);
}

Status RunSource::open(const std::string& directory_path, const std::vector<std::int32_t>& ranks,
                       std::unique_ptr<RunSource>& result, std::vector<std::string>& problems) {
  OpenDirectory run;
  const Status status = open_given_directory(directory_path, run);
  return status.is_ok() ? open(run, ranks, result, problems) : status;
}

Status RunSource::open(const OpenDirectory& run, const std::vector<std::int32_t>& ranks,
                       std::unique_ptr<RunSource>& result, std::vector<std::string>& problems) {
  Traces traces{{}, problems};
  traces.add(run);
  return take(std::move(traces), run.path, ranks, result);
}

Status RunSource::open_as_it_is(const std::string& directory_path,
                                std::unique_ptr<RunSource>& result,
                                std::vector<std::string>& problems) {
  OpenDirectory run;
  const Status status = open_given_directory(directory_path, run);
  if (!status.is_ok()) return status;
  Traces traces{{}, problems};
  for_each_standalone_directory(
      run, [&](const OpenDirectory& standalone) { traces.add_from_scratch(standalone); });
  traces.add_from_scratch(run);
  traces.add(run);
  return take(std::move(traces), run.path, {}, result);
}

Status RunSource::take(Traces traces, const std::string& directory_path,
                       const std::vector<std::int32_t>& ranks, std::unique_ptr<RunSource>& result) {
  std::vector<std::unique_ptr<TraceFile>>& files = traces.files;
  std::vector<std::string>& problems = traces.problems;
  if (files.empty()) {
    return Status::error(directory_path + " holds no readable trace" +
                         (problems.empty() ? "" : ": " + problems.front()));
  }
  std::vector<ClockDomain> clocks;
  for (const auto& file : files) clocks.push_back(clock_domain_of(file->definitions().info));
  auto source = std::make_unique<RunSource>();
  source->time_ = run_time_of(one_a_domain(std::move(clocks)));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::int32_t rank = files[i]->definitions().info.world_rank;
    source->world_size_ = std::max(source->world_size_, files[i]->definitions().info.world_size);
    const bool is_wanted = ranks.empty() ||
                           std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    if (!is_wanted) continue;
    if (source->processes_.contains(rank)) {
      const ProcessInfo& taken = source->process(rank).info;
      const ProcessInfo& other = files[i]->definitions().info;
      if (taken.pid == other.pid && taken.run_id == other.run_id)
        continue;  // a copy that was taken while it ran
      problems.push_back("rank " + std::to_string(rank) +
                         " has more than one trace; one was taken");
      continue;
    }
    source->add(std::move(files[i]));
  }
  result = std::move(source);
  return Status::ok();
}

Status RunSource::open_own(const std::string& path, const std::vector<ClockDomain>& clocks,
                           std::unique_ptr<RunSource>& result) {
  std::unique_ptr<TraceFile> file;
  Status status = TraceFile::open(path, file);
  if (!status.is_ok()) return status;
  auto source = std::make_unique<RunSource>();
  source->time_ = run_time_of(clocks);
  const ProcessInfo& info = file->definitions().info;
  if (!source->time_.domains.contains(clock_domain_id(info.clock.domain))) {
    return Status::error("the clock of rank " + std::to_string(info.world_rank) + " is not known");
  }
  source->world_size_ = info.world_size;
  source->add(std::move(file));
  result = std::move(source);
  return Status::ok();
}

void RunSource::add(std::unique_ptr<TraceFile> file) {
  const ProcessInfo& info = file->definitions().info;
  const std::int32_t rank = info.world_rank;
  const TimeMap& map = time_.of(info).map;
  end_ns_ = std::max(end_ns_, map.to_ns(file->end_ticks()));
  processes_[rank] = {std::move(file), map};
  ranks_.insert(std::lower_bound(ranks_.begin(), ranks_.end(), rank), rank);
}

const ProcessDefinitions& RunSource::process(std::int32_t world_rank) const {
  return processes_.at(world_rank).file->definitions();
}

std::unique_ptr<CallStream> RunSource::calls(std::int32_t world_rank, LocationId location) const {
  const Process& process = processes_.at(world_rank);
  return process.file->calls(location, process.map);
}

std::unique_ptr<PointStream> RunSource::points(std::int32_t world_rank, LocationId location) const {
  const Process& process = processes_.at(world_rank);
  return process.file->points(location, process.map);
}

}  // namespace megascope::trace
