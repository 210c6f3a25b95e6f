#include "analysis/import/chrome_timeline.h"
#include "analysis/import/gzip_stream.h"
#include "analysis/import/megascan_timeline.h"
#include "analysis/import/mend.h"
#include "analysis/import/pytorch_timeline.h"
#include "analysis/import/source_kind.h"
#include "analysis/import/timeline_run.h"
#include "core/base/safe_file.h"
#include "core/base/text.h"
#include "core/trace/trace_writer.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/convert/convert.h"
#include "plugin/cli/run_directory/import_facts.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

/// `megascope import`: converts timelines of other tools to native traces.
namespace megascope::cli {
namespace {

namespace fs = std::filesystem;

Status read_chrome_file(const std::string& path, importer::Timeline& timeline) {
  importer::GzipBuffer buffer(path);
  if (!buffer.is_open() || fs::is_directory(path)) return Status::error("cannot open " + path);
  std::istream from(&buffer);
  const Status status = importer::read_chrome(from, timeline);
  if (buffer.has_failed()) return Status::error(path + ": the compressed data is damaged");
  return status.is_ok() ? status : Status::error(path + ": " + status.message());
}

Status read_table(const std::string& path, importer::OperationTable& table) {
  if (path.empty())
    return importer::OperationTable::parse(importer::OperationTable::shipped(), table);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return Status::error("cannot read " + path);
  const Status status = importer::OperationTable::parse(text, table);
  return status.is_ok() ? status : Status::error(path + ": " + status.message());
}

Status read_source(const ImportArguments& arguments, const std::string& format,
                   importer::Timeline& timeline) {
  if (format == "pytorch") return importer::read_pytorch(arguments.sources, timeline);
  if (arguments.sources.size() != 1)
    return Status::error("--from " + format + " reads one file or directory, but " +
                         std::to_string(arguments.sources.size()) + " were given");
  if (format == "megascan") return importer::read_megascan(timeline.source, timeline);
  return read_chrome_file(timeline.source, timeline);
}

Status read_run(const ImportArguments& arguments, const std::string& format,
                std::unique_ptr<importer::TimelineRun>& run) {
  importer::OperationTable table;
  importer::ParallelGrid grid;
  importer::Timeline timeline;
  timeline.source = arguments.sources.front();
  Status status = read_table(arguments.operations, table);
  if (status.is_ok() && !arguments.parallel.empty())
    status = importer::ParallelGrid::parse(arguments.parallel, grid);
  if (status.is_ok()) status = read_source(arguments, format, timeline);
  if (!status.is_ok()) return status;
  if (format == "pytorch" && !arguments.parallel.empty()) timeline.has_grid = true;
  importer::mend(timeline);
  status = timeline.repairs.check(arguments.is_strict);
  if (status.is_ok() && arguments.parallel.empty())
    status = importer::ParallelGrid::around(timeline, grid);
  if (!status.is_ok()) return Status::error(timeline.source + ": " + status.message());
  return importer::TimelineRun::make(std::move(timeline), grid, table, run);
}

/// Writes the run to a new directory, which is removed again on failure.
Status write(const importer::TimelineRun& run, const std::string& directory,
             const std::string& format) {
  Status status = files::make_directory(directory, 0777);
  if (!status.is_ok()) return status;
  std::vector<trace::TraceClock> clocks;
  for (const std::int32_t rank : run.world_ranks()) {
    if (!run.timeline().has_common_clock)
      clocks.push_back({.domain = "rank " + std::to_string(rank)});
  }
  status = trace::write_run(run, directory, clocks);
  if (status.is_ok()) status = write_import_facts(directory, run.timeline(), format);
  std::error_code error;
  if (!status.is_ok()) fs::remove_all(directory, error);
  return status;
}

}  // namespace

int import_run(const ImportArguments& arguments) {
  if (arguments.is_for_table) {
    std::fwrite(importer::OperationTable::shipped().data(), 1,
                importer::OperationTable::shipped().size(), stdout);
    return kSuccess;
  }
  const std::string format = arguments.from.empty() ? importer::format_of(arguments.sources)
                                                    : arguments.from;
  std::unique_ptr<importer::TimelineRun> run;
  Status status = read_run(arguments, format, run);
  if (status.is_ok()) status = write(*run, arguments.out, format);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  for (const std::string& note : run->timeline().repairs.notes()) say(note);
  for (const std::string& note : run->timeline().notes) say(note);
  const std::string missing = missing_ranks_text(run->world_ranks(), run->world_size());
  std::printf("%s operations of %zu workers in %s%s\n",
              human_count(run->timeline().operations.size()).c_str(), run->world_ranks().size(),
              printable(arguments.out).c_str(), missing.empty() ? "" : ("; " + missing).c_str());
  return kSuccess;
}

}  // namespace megascope::cli
