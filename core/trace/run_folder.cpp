#include "core/trace/run_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace megascope::trace {
namespace fs = std::filesystem;

namespace {

constexpr char kTracePrefix[] = "rank-";
constexpr char kTraceSuffix[] = ".mgt";

void find_in(const fs::path& folder, std::vector<std::string>& found, std::vector<fs::path>& solo_folders) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kTracePrefix) && name.ends_with(kTraceSuffix)) found.push_back(entry.path().string());
    if (name.starts_with("solo-") && entry.is_directory(error)) solo_folders.push_back(entry.path());
  }
}

}  // namespace

std::string trace_file_name(std::int32_t world_rank) {
  return kTracePrefix + std::to_string(world_rank) + kTraceSuffix;
}

std::vector<std::string> find_traces(const std::string& folder) {
  std::vector<std::string> found;
  std::vector<fs::path> solo_folders;
  find_in(folder, found, solo_folders);
  std::vector<fs::path> deeper;
  for (const fs::path& solo : solo_folders) find_in(solo, found, deeper);
  return found;
}

Status RunSource::open(const std::string& folder, const std::vector<std::int32_t>& ranks,
                       std::unique_ptr<RunSource>& result, std::vector<std::string>& problems) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return Status::error(folder + " is not a folder");
  std::vector<std::unique_ptr<TraceFile>> files;
  std::vector<ProcessClock> clocks;
  for (const std::string& path : find_traces(folder)) {
    std::unique_ptr<TraceFile> file;
    const Status status = TraceFile::open(path, file);
    if (!status.is_ok()) {
      problems.push_back(status.message());
      continue;
    }
    clocks.push_back(clock_of(file->definitions().info));
    files.push_back(std::move(file));
  }
  if (files.empty()) {
    return Status::error(folder + " holds no readable trace" + (problems.empty() ? "" : ": " + problems.front()));
  }
  const RunTime time = run_time_of(clocks);
  auto source = std::make_unique<RunSource>();
  source->start_realtime_ns_ = time.start_realtime_ns;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::int32_t rank = files[i]->definitions().info.world_rank;
    source->world_size_ = std::max(source->world_size_, files[i]->definitions().info.world_size);
    const bool is_wanted = ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    if (!is_wanted) continue;
    if (source->processes_.contains(rank)) {
      problems.push_back("rank " + std::to_string(rank) + " has more than one trace; one was taken");
      continue;
    }
    source->add(std::move(files[i]), time.maps[i]);
  }
  result = std::move(source);
  return Status::ok();
}

Status RunSource::open_own(const std::string& path, const std::vector<ProcessClock>& clocks,
                           std::unique_ptr<RunSource>& result) {
  std::unique_ptr<TraceFile> file;
  Status status = TraceFile::open(path, file);
  if (!status.is_ok()) return status;
  const RunTime time = run_time_of(clocks);
  const std::int32_t rank = file->definitions().info.world_rank;
  auto source = std::make_unique<RunSource>();
  source->start_realtime_ns_ = time.start_realtime_ns;
  source->world_size_ = file->definitions().info.world_size;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    if (clocks[i].world_rank != rank) continue;
    source->add(std::move(file), time.maps[i]);
    result = std::move(source);
    return Status::ok();
  }
  return Status::error("the clock of rank " + std::to_string(rank) + " is not known");
}

void RunSource::add(std::unique_ptr<TraceFile> file, const TimeMap& map) {
  const std::int32_t rank = file->definitions().info.world_rank;
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

}  // namespace megascope::trace
