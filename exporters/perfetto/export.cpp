#include "exporters/perfetto/export.h"

#include "core/base/text.h"
#include "exporters/common/joint_file.h"
#include "exporters/perfetto/finding_tracks.h"
#include "exporters/perfetto/process_trace.h"
#include "exporters/perfetto/schema.h"
#include "exporters/perfetto/track_numbers.h"

#include <protozero/pbf_writer.hpp>

#include <string>

namespace megascope::perfetto {
namespace {

constexpr const char* kFileName = "trace.perfetto-trace";

/// Orders the processes by rank. Written once for each file, on the root track.
void write_root_track(timeline::JointFile& file) {
  std::string trace;
  protozero::pbf_writer writer(trace);
  {
    protozero::pbf_writer packet(writer, schema::Trace::kPacket);
    packet.add_uint32(schema::TracePacket::kTrustedPacketSequenceId, 1);
    protozero::pbf_writer track(packet, schema::TracePacket::kTrackDescriptor);
    track.add_uint64(schema::TrackDescriptor::kUuid, 0);
    track.add_enum(schema::TrackDescriptor::kProcessOrdering, schema::TrackDescriptor::kExplicit);
  }
  file.write(trace);
}

}  // namespace

Status run_export(const ExportJob& job, ExportResult& result) {
  Collective& members = *job.collective;
  timeline::JointFile file(members, job.directory, kFileName);
  Status status = file.open();
  if (!status.is_ok()) return status;
  std::uint64_t slice_count = 0;
  std::uint64_t lost_operation_count = 0;
  std::uint64_t lost_range_count = 0;
  std::uint64_t lost_counter_count = 0;
  if (members.rank() == 0) {
    write_root_track(file);
    if (job.annotations != nullptr)
      slice_count += write_findings(*job.source, *job.annotations, file);
  }
  for (const std::int32_t rank : job.source->world_ranks()) {
    ProcessTrace trace(*job.source, rank, file, job.annotations);
    trace.write(job.progress);
    slice_count += trace.slice_count();
    lost_operation_count += trace.lost_operation_count();
    lost_range_count += trace.lost_range_count();
    lost_counter_count += trace.lost_counter_count();
  }
  result.path = kFileName;
  status = file.finish(Status::ok(), result.bytes);
  if (status.is_ok()) status = timeline::add_up(members, slice_count);
  if (status.is_ok()) status = timeline::add_up(members, lost_operation_count);
  if (status.is_ok()) status = timeline::add_up(members, lost_range_count);
  if (status.is_ok()) status = timeline::add_up(members, lost_counter_count);
  if (lost_operation_count != 0) {
    result.notes.push_back(human_count(lost_operation_count) +
                           " nonblocking operations have no slice: the limit is " +
                           std::to_string(OperationLanes::kMaxLanes) + " at a time");
  }
  if (lost_range_count != 0) {
    result.notes.push_back(human_count(lost_range_count) + " ranges are not shown: the limit is " +
                           std::to_string(RangeLanes::kMaxLanes) + " at a time");
  }
  if (lost_counter_count != 0) {
    result.notes.push_back(human_count(lost_counter_count) +
                           " counters are not shown: the limit is " +
                           std::to_string(tracks::kMaxCounters) + " for each rank");
  }
  result.records = slice_count;
  return status;
}

}  // namespace megascope::perfetto
