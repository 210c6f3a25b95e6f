#include "analysis/align/causality.h"
#include "analysis/import/parallel_grid.h"
#include "core/base/safe_file.h"
#include "core/base/text.h"
#include "core/base/version.h"
#include "core/config/environment.h"
#include "core/config/export_formats.h"
#include "core/config/options.h"
#include "core/lifecycle/locate_call_sites.h"
#include "core/lifecycle/module_loader.h"
#include "plugin/answer/annotate.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/fork_collective.h"
#include "plugin/cli/common/installation.h"
#include "plugin/cli/common/progress.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/convert/convert.h"
#include "plugin/cli/run_directory/run_share.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <utility>

/// `megascope export`: converts native traces to other formats, streaming, on all cores.
namespace megascope::cli {
namespace {

/// Creates a directory and its parents; an existing one is used. result: the open directory.
Status make_output_directory(const std::string& directory_path, trace::OpenDirectory& result) {
  constexpr mode_t kMode = 0777;
  bool exists = false;
  Status status = files::make_parents(directory_path, kMode);
  if (status.is_ok()) status = files::make_directory(directory_path, kMode, &exists);
  if (!status.is_ok() && !exists) return status;
  return trace::open_given_directory(directory_path, result);
}

/// What formats can show in addition to records: the analysis result and its annotations. Null if
/// not requested or if the analysis failed.
struct Findings {
  answer::Answer answer;
  Annotations annotations;

  Findings(const trace::RunSource& run, unsigned jobs)
      : answer(run, run.time(), {.jobs = jobs, .has_replay = false}),
        annotations(answer::annotations_of(answer)) {}
};

std::unique_ptr<Findings> find(const trace::RunSource& run, const ExportArguments& arguments,
                               int jobs) {
  const bool is_wanted = !arguments.leaves_out_findings &&
                         std::ranges::any_of(arguments.formats, config::can_show_findings);
  if (!is_wanted || run.world_ranks().size() < 2 || !answer::ranks_of_other_runs(run).empty())
    return nullptr;
  try {
    auto found = std::make_unique<Findings>(run, static_cast<unsigned>(jobs));
    std::uint64_t wait_count = 0;
    for (const auto& [rank, waits] : found->annotations.waits) wait_count += waits.size();
    const std::size_t causes = found->answer.view().detection.root_causes.size();
    std::printf("findings: %zu root %s, %s wait states\n", causes, causes == 1 ? "cause" : "causes",
                human_count(wait_count).c_str());
    return found;
  } catch (const std::exception& error) {
    say(std::string("findings are not exported: ") + error.what());
    return nullptr;
  }
}

void annotate_moves(const analysis::Causality& causality) {
  if (causality.violations_before == 0) return;
  if (causality.anchors.is_any())
    std::printf(
        "clocks: clocks that were never measured were set from the application's messages and "
        "collectives\n");
  std::printf(
      "clocks: %s messages and collectives were in an impossible order; times were moved by up "
      "to %s\n",
      human_count(causality.violations_before).c_str(),
      human_duration(static_cast<std::int64_t>(causality.max_moved_ns)).c_str());
}

/// The run with times corrected for message order, if its ranks have several clocks. corrected:
/// owns the result if times were moved.
const RecordSource& in_order(const trace::RunSource& run, int jobs,
                             std::optional<analysis::InOrder>& corrected) {
  if (run.time().domains.size() < 2) return run;
  const analysis::Causality causality = analysis::restore_causality(
      run, answer::measured_errors_ns(run, run.time()), static_cast<unsigned>(jobs));
  annotate_moves(causality);
  if (causality.violations_before == 0) return run;
  return corrected.emplace(run, causality).source();
}

/// The run as it is exported.
struct Seen {
  const RecordSource& source;
  const Annotations* annotations;  ///< null: no annotations
};

/// The output directory, accessed through the descriptor opened at start. Otherwise the owner of a
/// parent directory could exchange it during the export and get data that only this user may read.
class OutputDirectory {
 public:
  explicit OutputDirectory(const trace::OpenDirectory& directory)
      : shown_(directory.path),
        path_("/proc/self/fd/" + std::to_string(directory.opened.number())) {
    struct stat info {};
    if (stat(path_.c_str(), &info) != 0) path_ = shown_;  // /proc is not available
  }

  const std::string& path() const { return path_; }
  const std::string& shown() const { return shown_; }
  /// Replaces path() by the directory's name in a module's `text`.
  std::string named_in(std::string text) const {
    for (std::size_t at = text.find(path_); at != std::string::npos;
         at = text.find(path_, at + shown_.size()))
      text.replace(at, path_.size(), shown_);
    return text;
  }

 private:
  std::string shown_;
  std::string path_;
};

Status export_together(const trace::RunSource& run, const Seen& seen, const ModuleTable& module,
                       const std::string& format, const OutputDirectory& directory_path,
                       std::size_t members) {
  Progress progress(format);
  ExportResult result;
  std::string failure;
  const config::LoadedOptions options = config::load_options(config::environment_entries());
  const bool has_plain_comms = options.values.otf2_intercomm == config::Otf2Intercomm::kComm;
  const Status status = ForkGroup::run(static_cast<int>(members), [&](Collective& collective) {
    const RunShare share = share_of(run, seen.source, static_cast<std::size_t>(collective.rank()),
                                    members);
    const ExportJob job{.source = &share,
                        .collective = &collective,
                        .directory = directory_path.path(),
                        .generator = std::string("megascope ") + kVersion,
                        .progress = progress.reporter(collective.rank() == 0),
                        .annotations = seen.annotations,
                        .has_plain_comms = has_plain_comms};
    ExportResult mine;
    const Status exported = module.run_export(job, mine);
    if (collective.rank() == 0) {
      result = mine;
      failure = exported.message();
    }
    return exported.is_ok() ? 0 : 1;
  });
  progress.clear();
  if (!failure.empty()) return Status::error(directory_path.named_in(failure));
  if (!status.is_ok()) return status;
  std::printf("%s: %s/%s, %s records, %s in %s (%s)\n", printable(format).c_str(),
              printable(directory_path.shown()).c_str(),
              printable(directory_path.named_in(result.path)).c_str(),
              human_count(result.records).c_str(), human_bytes(result.bytes).c_str(),
              human_duration(static_cast<std::int64_t>(progress.elapsed_s() * 1e9)).c_str(),
              progress.figures().c_str());
  for (const std::string& note : result.notes)
    std::printf("  %s\n", printable(directory_path.named_in(note)).c_str());
  std::fflush(stdout);
  return Status::ok();
}

Status export_format(const trace::RunSource& run, const Seen& seen, const std::string& format,
                     const OutputDirectory& directory_path, std::size_t members) {
  std::string library_directory;
  Status status = find_library_directory(library_directory);
  const ModuleTable* module = nullptr;
  if (status.is_ok()) status = load_module(library_directory, format, module);
  if (status.is_ok()) status = export_together(run, seen, *module, format, directory_path, members);
  return status.is_ok() ? status : Status::error(format + ": " + status.message());
}

/// Sets the parallel groups. sizes: as given by the user; empty: unchanged.
Status set_parallel(trace::RunSource& run, const std::string& sizes) {
  if (sizes.empty()) return Status::ok();
  importer::ParallelGrid grid;
  const Status status = importer::ParallelGrid::parse(sizes, grid);
  if (!status.is_ok()) return status;
  if (grid.size() != run.world_size()) {
    return Status::error("--parallel " + sizes + " is for " + std::to_string(grid.size()) +
                         " ranks, but the run has " + std::to_string(run.world_size()));
  }
  for (const std::int32_t rank : run.world_ranks())
    run.parallel(rank) = grid.indices_of(grid.coordinates_of(rank));
  return Status::ok();
}

void locate_call_sites_of(trace::RunSource& run) {
  std::vector<CallSiteDefinition*> sites;
  for (const std::int32_t rank : run.world_ranks()) {
    for (CallSiteDefinition& site : run.call_sites(rank)) sites.push_back(&site);
  }
  std::string directory_path;
  if (sites.empty() || !find_library_directory(directory_path).is_ok()) return;
  std::vector<std::string> notes;
  locate_call_sites(directory_path, sites, run.start_realtime_ns(), notes);
  for (const std::string& note : notes) say(note);
}

}  // namespace

int export_run(const ExportArguments& arguments) {
  std::unique_ptr<trace::RunSource> run;
  trace::OpenDirectory in;
  trace::OpenDirectory out;
  Status status = trace::open_given_directory(arguments.directory, in);
  if (status.is_ok()) status = open_run(in, run);
  if (status.is_ok()) status = set_parallel(*run, arguments.parallel);
  if (status.is_ok() && !arguments.out.empty()) status = make_output_directory(arguments.out, out);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  locate_call_sites_of(*run);
  int code = kSuccess;
  const std::size_t members = member_count(arguments.jobs, run->world_ranks().size());
  const int jobs = arguments.jobs > 0 ? arguments.jobs : usable_processor_count();
  const std::unique_ptr<Findings> found = find(*run, arguments, jobs);
  std::optional<analysis::InOrder> corrected;
  if (found != nullptr) annotate_moves(found->answer.view().causality);
  const Seen seen{found != nullptr ? found->answer.in_order() : in_order(*run, jobs, corrected),
                  found != nullptr ? &found->annotations : nullptr};
  std::fflush(stdout);  // flush before forking
  const OutputDirectory directory_path(arguments.out.empty() ? in : out);
  for (const std::string& format : arguments.formats) {
    status = export_format(*run, seen, format, directory_path, members);
    if (status.is_ok()) continue;
    say(status.message());
    code = kUnusable;
  }
  return code;
}

}  // namespace megascope::cli
