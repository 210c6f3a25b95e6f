#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/record/run_time.h"
#include "core/record/source.h"
#include "core/trace/reader.h"
#include "core/trace/run_directory.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::trace {

/// Names of what lies in a run folder.
std::string trace_file_name(std::int32_t world_rank);
bool is_trace_file_name(std::string_view name);
inline constexpr char
    kSoloFolderPrefix[] = "solo-";  ///< folders inside, of ranks that recorded alone
inline constexpr char
    kRunIdFile[] = "run-id";  ///< lines: run id; rank 0's scratch; the job's nodes (Slurm); rank
                              ///< 0's node; directory of its traces there
inline constexpr char kOptionsFile[] = "options.sh";
inline constexpr char kReportTextFile[] = "report.txt";
inline constexpr char kReportJsonFile[] = "report.json";

/// Native traces of a run, as one source with a common time.
class RunSource final : public RecordSource {
 public:
  /// All traces of a run folder, those of solo ranks included. Unreadable ones are named in
  /// `problems`; an error when none is readable. ranks: only these (empty: all); the run's time is
  /// always that of all.
  static Status open(const std::string& folder, const std::vector<std::int32_t>& ranks,
                     std::unique_ptr<RunSource>& result, std::vector<std::string>& problems);
  /// The same of a directory that is open.
  static Status open(const OpenDirectory& run, const std::vector<std::int32_t>& ranks,
                     std::unique_ptr<RunSource>& result, std::vector<std::string>& problems);
  /// The same of a run that may be going on: also traces on this node's scratch storage, as they
  /// are now. A copy of one in the run folder gives way to it. Changes no file.
  static Status open_as_it_is(const std::string& folder, std::unique_ptr<RunSource>& result,
                              std::vector<std::string>& problems);
  /// One process's trace in a running job, with the clocks of all processes.
  static Status open_own(const std::string& path, const std::vector<ClockDomain>& clocks,
                         std::unique_ptr<RunSource>& result);

  std::int32_t world_size() const override { return world_size_; }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t world_rank) const override;
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override;
  std::unique_ptr<PointStream> points(std::int32_t world_rank, LocationId location) const override;
  std::int64_t start_realtime_ns() const override { return time_.start_realtime_ns; }
  std::uint64_t end_ns() const override { return end_ns_; }

  /// For looking up, or saying, what the trace itself does not tell. Not while others read.
  std::vector<CallSiteDefinition>& call_sites(std::int32_t world_rank) {
    return processes_.at(world_rank).file->call_sites();
  }
  std::vector<ParallelIndex>& parallel(std::int32_t world_rank) {
    return processes_.at(world_rank).file->parallel();
  }

  const TraceFile& file(std::int32_t world_rank) const { return *processes_.at(world_rank).file; }
  const TimeMap& time_map(std::int32_t world_rank) const { return processes_.at(world_rank).map; }
  /// Of all clock domains of the run.
  const RunTime& time() const { return time_; }

 private:
  struct Process {
    std::unique_ptr<TraceFile> file;
    TimeMap map;
  };
  struct Traces;
  static Status take(Traces traces, const std::string& folder,
                     const std::vector<std::int32_t>& ranks, std::unique_ptr<RunSource>& result);
  void add(std::unique_ptr<TraceFile> file);

  std::map<std::int32_t, Process> processes_;
  std::vector<std::int32_t> ranks_;
  std::int32_t world_size_ = 1;
  RunTime time_;
  std::uint64_t end_ns_ = 0;
};

/// Paths of the native traces in a run folder (also in solo-* below it), in no particular order.
std::vector<std::string> find_traces(const std::string& folder);

/// `<scratch>/megascope-<uid>/<run id>` of the effective user.
std::string scratch_folder_of(const std::string& scratch, const std::string& run_id);
/// What the run-id file of a run folder says; false when there is none.
struct RunId {
  std::string id;
  std::string scratch;  ///< of rank 0
  std::string
      scratch_folder;  ///< of this user, where traces of the run lie on a node while it goes on
  std::string nodes;   ///< of the job, as Slurm writes them: "n[0-3]"; empty: not known
};
bool read_run_id(const std::string& folder, RunId& result);
/// The same in an open directory.
bool read_run_id(const files::Base& folder, RunId& result,
                 files::Owner owner = files::Owner::kAnyone);

}  // namespace megascope::trace
