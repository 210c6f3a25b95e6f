#include "examples/add_an_exporter/export.h"

#include "exporters/common/joint_file.h"
#include "exporters/common/utf8.h"

#include <string>
#include <string_view>

namespace megascope::calls_csv {
namespace {

constexpr const char* kFileName = "calls.csv";
constexpr std::string_view kHeader = "rank,thread,function,enter_ns,leave_ns\n";

/// Names come from the application: any bytes. RFC 4180: quotes are doubled.
std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : timeline::valid_utf8(name)) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

/// Streams the calls of one thread. Returns their number.
std::uint64_t write_calls(const ExportJob& job, std::int32_t world_rank, LocationId location,
                          timeline::JointFile& file) {
  const ProcessDefinitions& process = job.source->process(world_rank);
  const std::string thread = std::to_string(world_rank) + ',' + std::to_string(location) + ',';
  std::uint64_t call_count = 0;
  const auto calls = job.source->calls(world_rank, location);
  for (Call call; calls->next(call); ++call_count) {
    const RegionDefinition* region = process.region(call.region);
    file.write(thread + quoted(region == nullptr ? "?" : region->name) + ',' +
               std::to_string(call.enter_ns) + ',' + std::to_string(call.leave_ns) + '\n');
  }
  if (job.progress) job.progress(call_count);
  return call_count;
}

}  // namespace

Status run_export(const ExportJob& job, ExportResult& result) {
  Collective& members = *job.collective;
  timeline::JointFile file(members, job.directory, kFileName);
  Status status = file.open();
  if (!status.is_ok()) return status;
  std::uint64_t call_count = 0;
  if (members.rank() == 0) file.write(kHeader);
  for (const std::int32_t rank : job.source->world_ranks()) {
    for (const LocationDefinition& location : job.source->process(rank).locations)
      call_count += write_calls(job, rank, location.id, file);
  }
  status = file.finish(Status::ok(), result.bytes);
  if (status.is_ok()) status = timeline::add_up(members, call_count);
  result.path = kFileName;
  result.records = call_count;
  return status;
}

}  // namespace megascope::calls_csv
