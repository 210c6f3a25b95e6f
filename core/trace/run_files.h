#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/clocks/run_time.h"
#include "core/record/source.h"
#include "core/trace/reader.h"
#include "core/trace/run_directory.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::trace {

/// Names of the files in a run directory.
std::string trace_file_name(std::int32_t world_rank);
bool is_trace_file_name(std::string_view name);
inline constexpr char kStandaloneDirectoryPrefix[] = "solo-";  ///< directories of standalone ranks
inline constexpr char
    kRunIdFile[] = "run-id";  ///< lines: run id; rank 0's scratch directory; nodes of the job
                              ///< (Slurm); rank 0's node; directory of its traces there
inline constexpr char kOptionsFile[] = "options.sh";
inline constexpr char kReportTextFile[] = "report.txt";
inline constexpr char kReportJsonFile[] = "report.json";

/// The native traces of a run as one source with a common time.
class RunSource final : public RecordSource {
 public:
  /// Opens all traces of a run directory, including those of standalone ranks. Traces that cannot
  /// be read are named in `problems`. Returns an error if no trace can be read. ranks: world ranks
  /// to open; empty: all. The time of the run is always computed from the traces of all ranks.
  static Status open(const std::string& directory_path, const std::vector<std::int32_t>& ranks,
                     std::unique_ptr<RunSource>& result, std::vector<std::string>& problems);
  /// Opens all traces of an open run directory, like open() by path.
  static Status open(const OpenDirectory& run, const std::vector<std::int32_t>& ranks,
                     std::unique_ptr<RunSource>& result, std::vector<std::string>& problems);
  /// Opens the traces of a run that may still run, of all ranks. A trace in this node's scratch
  /// storage is used in its present state, instead of its copy in the run directory. Changes no
  /// file. Returns the same errors as open().
  static Status open_as_it_is(const std::string& directory_path, std::unique_ptr<RunSource>& result,
                              std::vector<std::string>& problems);
  /// Opens the trace of one process while the job runs. clocks: clock domains of all processes,
  /// from which the time of the run is computed.
  static Status open_own(const std::string& path, const std::vector<ClockDomain>& clocks,
                         std::unique_ptr<RunSource>& result);

  std::int32_t world_size() const override { return world_size_; }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t world_rank) const override;
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override;
  std::unique_ptr<PointStream> points(std::int32_t world_rank, LocationId location) const override;
  std::int64_t start_realtime_ns() const override { return time_.start_realtime_ns; }
  std::uint64_t end_ns() const override { return end_ns_; }

  /// call_sites() and parallel() return lists to which the caller may add data that the trace does
  /// not have. No other thread may read the source meanwhile.
  std::vector<CallSiteDefinition>& call_sites(std::int32_t world_rank) {
    return processes_.at(world_rank).file->call_sites();
  }
  std::vector<ParallelIndex>& parallel(std::int32_t world_rank) {
    return processes_.at(world_rank).file->parallel();
  }

  const TraceFile& file(std::int32_t world_rank) const { return *processes_.at(world_rank).file; }
  const TimeMap& time_map(std::int32_t world_rank) const { return processes_.at(world_rank).map; }
  /// Returns the time maps of all clock domains of the run.
  const RunTime& time() const { return time_; }

 private:
  struct Process {
    std::unique_ptr<TraceFile> file;
    TimeMap map;
  };
  struct Traces;
  static Status take(Traces traces, const std::string& directory_path,
                     const std::vector<std::int32_t>& ranks, std::unique_ptr<RunSource>& result);
  void add(std::unique_ptr<TraceFile> file);

  std::map<std::int32_t, Process> processes_;
  std::vector<std::int32_t> ranks_;
  std::int32_t world_size_ = 1;
  RunTime time_;
  std::uint64_t end_ns_ = 0;
};

/// Returns the paths of the native traces in a run directory and in the directories of standalone
/// ranks, in no particular order.
std::vector<std::string> find_traces(const std::string& directory_path);

/// Returns `<scratch>/megascope-<uid>/<run id>` of the effective user.
std::string scratch_directory_of(const std::string& scratch, const std::string& run_id);
/// Content of the run-id file of a run directory.
struct RunId {
  std::string id;
  std::string scratch;            ///< scratch directory of rank 0
  std::string scratch_directory;  ///< directory in scratch storage that holds the traces of a node
                                  ///< while the run is in progress
  std::string nodes;  ///< nodes of the job in Slurm's notation: "n[0-3]"; empty: unknown
};
/// Reads the run-id file. Returns false if it does not exist.
bool read_run_id(const std::string& directory_path, RunId& result);
/// Reads the run-id file in an open directory. Returns false if it does not exist, is malformed, or
/// does not belong to `owner`.
bool read_run_id(const files::Base& directory_path, RunId& result,
                 files::Owner owner = files::Owner::kAnyone);

}  // namespace megascope::trace
