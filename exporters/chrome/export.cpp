#include "exporters/chrome/export.h"

#include "core/base/text.h"
#include "exporters/chrome/deflate_part.h"
#include "exporters/chrome/findings.h"
#include "exporters/chrome/process_events.h"
#include "exporters/common/joint_file.h"
#include "exporters/common/utf8.h"

#include <string>

namespace megascope::chrome {
namespace {

constexpr const char* kFileName = "trace.json.gz";

std::string opening(const ExportJob& job) {
  return R"({"displayTimeUnit":"ns","otherData":{"generator":")" +
         timeline::json_escaped(job.generator) + R"(","start_realtime_ns":")" +
         std::to_string(job.source->start_realtime_ns()) + R"("},"traceEvents":[)";
}

/// Writes this member's part. Returns the number of events in it.
std::uint64_t write_part(const ExportJob& job, DeflatePart& part, std::uint64_t& lost_arrow_count) {
  const int member = job.collective->rank();
  std::uint64_t event_count = 0;
  if (member == 0) {
    part.write(opening(job));
    if (job.annotations != nullptr) part.write(all_findings(*job.annotations, event_count));
  }
  for (const std::int32_t rank : job.source->world_ranks()) {
    ProcessEvents events(*job.source, rank, part, /*is_first=*/member == 0 && event_count == 0,
                         job.annotations);
    events.write(job.progress);
    event_count += events.event_count();
    lost_arrow_count += events.lost_arrow_count();
  }
  if (member == job.collective->size() - 1) part.write("\n]}\n");
  return event_count;
}

}  // namespace

Status run_export(const ExportJob& job, ExportResult& result) {
  Collective& members = *job.collective;
  timeline::JointFile file(members, job.directory, kFileName);
  Status status = file.open();
  if (!status.is_ok()) return status;
  DeflatePart part(file, members);
  std::uint64_t lost_arrow_count = 0;
  std::uint64_t event_count = write_part(job, part, lost_arrow_count);
  status = file.finish(part.finish(), result.bytes);
  if (status.is_ok()) status = timeline::add_up(members, event_count);
  if (status.is_ok()) status = timeline::add_up(members, lost_arrow_count);
  if (lost_arrow_count != 0)
    result.notes.push_back(human_count(lost_arrow_count) +
                           " arrow ends are omitted because their calls have zero duration");
  result.path = kFileName;
  result.records = event_count;
  return status;
}

}  // namespace megascope::chrome
