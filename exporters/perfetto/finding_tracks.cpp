#include "exporters/perfetto/finding_tracks.h"

#include "exporters/common/utf8.h"
#include "exporters/perfetto/packet_stream.h"
#include "exporters/perfetto/schema.h"
#include "exporters/perfetto/track_numbers.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace megascope::perfetto {
namespace {

using schema::DebugAnnotation;
using schema::TrackDescriptor;
using schema::TrackEvent;

constexpr std::int32_t kFindings = -1;  ///< used in place of a world rank
constexpr std::int32_t kAbove = -1;     ///< sort position among siblings
/// Limit, so that their track numbers do not overlap those of threads.
constexpr std::size_t kMaxFindings = 1024;

struct Moment {
  std::uint64_t time_ns;
  std::uint64_t track;
  const Annotation* finding;
  bool is_begin;
};

std::string process_track() {
  std::string track;
  protozero::pbf_writer writer(track);
  writer.add_uint64(TrackDescriptor::kUuid, tracks::of_process(kFindings, 1));
  writer.add_string(TrackDescriptor::kName, "MegaScope findings");
  {
    protozero::pbf_writer process(writer, TrackDescriptor::kProcess);
    process.add_int32(schema::ProcessDescriptor::kPid, tracks::kFindingsPid);
    process.add_int32(schema::ProcessDescriptor::kLegacySortIndex, kAbove);
    process.add_string(schema::ProcessDescriptor::kProcessName, "MegaScope findings");
  }
  writer.add_enum(TrackDescriptor::kChildOrdering, TrackDescriptor::kChildrenExplicit);
  writer.add_int32(TrackDescriptor::kSiblingOrderRank, kAbove);
  return track;
}

std::string child_track(std::uint64_t uuid, std::uint64_t parent, const std::string& name,
                        std::int32_t place) {
  std::string track;
  protozero::pbf_writer writer(track);
  writer.add_uint64(TrackDescriptor::kUuid, uuid);
  writer.add_uint64(TrackDescriptor::kParentUuid, parent);
  writer.add_string(TrackDescriptor::kName, timeline::valid_utf8(name));
  writer.add_int32(TrackDescriptor::kSiblingOrderRank, place);
  return track;
}

std::string event_of(const Moment& moment) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_enum(
      TrackEvent::kType,
      static_cast<std::int32_t>(moment.is_begin ? TrackEvent::kSliceBegin : TrackEvent::kSliceEnd));
  writer.add_uint64(TrackEvent::kTrackUuid, moment.track);
  if (!moment.is_begin) return event;
  writer.add_string(TrackEvent::kCategories, "finding");
  writer.add_string(TrackEvent::kName, timeline::valid_utf8(moment.finding->name));
  for (const Annotation::Argument& argument : moment.finding->arguments) {
    protozero::pbf_writer annotation(writer, TrackEvent::kDebugAnnotations);
    annotation.add_string(DebugAnnotation::kName, timeline::valid_utf8(argument.name));
    if (argument.text.empty())
      annotation.add_double(DebugAnnotation::kDoubleValue, argument.number);
    else
      annotation.add_string(DebugAnnotation::kStringValue, timeline::valid_utf8(argument.text));
  }
  return event;
}

/// Gives each finding a track of its own, and one in each of its ranks, because findings may
/// overlap.
std::vector<Moment> write_tracks(const Annotations& annotations, std::int32_t world_size,
                                 PacketStream& packets) {
  std::vector<Moment> moments;
  const auto add = [&](const Annotation& finding, std::uint64_t uuid, std::uint64_t parent,
                       const std::string& name, std::int32_t place) {
    packets.put(schema::TracePacket::kTrackDescriptor, child_track(uuid, parent, name, place));
    moments.push_back({finding.begin_ns, uuid, &finding, true});
    moments.push_back({std::max(finding.begin_ns, finding.end_ns), uuid, &finding, false});
  };
  const std::size_t count = std::min(annotations.findings.size(), kMaxFindings);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Annotation& finding = annotations.findings[i];
    add(finding, tracks::of_process(kFindings, 2 + i), tracks::of_process(kFindings, 1),
        "finding " + std::to_string(i + 1), static_cast<std::int32_t>(i));
    for (const std::int32_t rank : finding.world_ranks) {
      if (rank < 0 || rank >= world_size) continue;
      add(finding, tracks::of_process(rank, tracks::kLast - i),
          tracks::of_process(rank, tracks::kProcess), "findings", kAbove);
    }
  }
  std::ranges::stable_sort(moments, {}, &Moment::time_ns);
  return moments;
}

}  // namespace

std::uint64_t write_findings(const RecordSource& source, const Annotations& annotations,
                             timeline::JointFile& file) {
  if (annotations.findings.empty()) return 0;
  PacketStream packets(file, static_cast<std::uint32_t>(source.world_size()) +
                                 1);  // ranks use the ids up to the number of ranks
  packets.put_first(source.start_realtime_ns(), tracks::of_process(kFindings, 1), {});
  packets.put(schema::TracePacket::kTrackDescriptor, process_track());
  const std::vector<Moment> moments = write_tracks(annotations, source.world_size(), packets);
  for (const Moment& moment : moments) {
    const std::string event = event_of(moment);
    packets.put_event(moment.time_ns, event);
  }
  packets.flush();
  return moments.size() / 2;
}

}  // namespace megascope::perfetto
