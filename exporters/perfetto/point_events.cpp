#include "exporters/perfetto/point_events.h"

#include "exporters/common/names.h"
#include "exporters/common/utf8.h"
#include "exporters/perfetto/schema.h"
#include "exporters/perfetto/track_numbers.h"

#include <protozero/pbf_writer.hpp>

#include <string>

namespace megascope::perfetto {

using schema::TrackDescriptor;
using schema::TrackEvent;

namespace {

constexpr std::int32_t kRangesRank = (1 << 20) - 1;  // below the threads, above the requests

}  // namespace

void PointEvents::add(const timeline::Event& event, std::uint64_t thread_uuid) {
  switch (event.point->kind) {
    case PointKind::kCounter:
      return count(event);
    case PointKind::kMark:
      return mark(event, thread_uuid);
    case PointKind::kTensor:
      return show(event, thread_uuid);
    case PointKind::kRangeStart:
      return start_range(event);
    case PointKind::kRangeStop:
      return stop_range(event);
  }
}

void PointEvents::count(const timeline::Event& event) {
  const CounterId counter = event.point->id;
  if (counter >= process_.counters.size()) return;
  if (is_seen_.size() <= counter) is_seen_.resize(process_.counters.size());
  const bool is_new = !is_seen_[counter];
  is_seen_[counter] = true;
  if (counter >= tracks::kMaxCounters) {
    lost_counter_count_ += is_new ? 1 : 0;
    return;
  }
  const std::uint64_t uuid = tracks::of_process(process_.info.world_rank,
                                                tracks::kFirstCounter + counter);
  if (is_new) add_counter_track(counter, uuid);
  std::string text;
  protozero::pbf_writer writer(text);
  writer.add_enum(TrackEvent::kType, TrackEvent::kTypeCounter);
  writer.add_uint64(TrackEvent::kTrackUuid, uuid);
  writer.add_double(TrackEvent::kDoubleCounterValue, event.point->value);
  packets_.put_event(event.time_ns, text);
}

void PointEvents::add_counter_track(CounterId counter, std::uint64_t uuid) {
  const CounterDefinition& definition = process_.counters[counter];
  std::string track;
  protozero::pbf_writer writer(track);
  writer.add_uint64(TrackDescriptor::kUuid, uuid);
  writer.add_uint64(TrackDescriptor::kParentUuid,
                    tracks::of_process(process_.info.world_rank, tracks::kProcess));
  writer.add_string(TrackDescriptor::kName, timeline::valid_utf8(definition.name));
  // A separate message: without a unit it is empty, and a nested writer would omit it.
  std::string of_counter;
  protozero::pbf_writer counter_writer(of_counter);
  if (!definition.unit.empty())
    counter_writer.add_string(schema::CounterDescriptor::kUnitName,
                              timeline::valid_utf8(definition.unit));
  writer.add_message(TrackDescriptor::kCounter, of_counter);
  packets_.put(schema::TracePacket::kTrackDescriptor, track);
}

void PointEvents::mark(const timeline::Event& event, std::uint64_t thread_uuid) {
  const Names::Region names = names_.region(static_cast<RegionId>(event.point->id));
  std::string text;
  protozero::pbf_writer writer(text);
  writer.add_enum(TrackEvent::kType, TrackEvent::kInstant);
  writer.add_uint64(TrackEvent::kTrackUuid, thread_uuid);
  writer.add_uint64(TrackEvent::kNameIid, names.name);
  writer.add_string(TrackEvent::kCategories, "mark");
  packets_.put_event(event.time_ns, text);
}

void PointEvents::show(const timeline::Event& event, std::uint64_t thread_uuid) {
  const TensorShape& shape = event.point->tensor;
  std::string text;
  protozero::pbf_writer writer(text);
  writer.add_enum(TrackEvent::kType, TrackEvent::kInstant);
  writer.add_uint64(TrackEvent::kTrackUuid, thread_uuid);
  writer.add_string(TrackEvent::kName,
                    timeline::valid_utf8(timeline::tensor_name(process_, event.point->id)));
  writer.add_string(TrackEvent::kCategories, "tensor");
  const auto say = [&writer](const char* name, std::string_view value) {
    protozero::pbf_writer annotation(writer, TrackEvent::kDebugAnnotations);
    annotation.add_string(schema::DebugAnnotation::kName, name);
    annotation.add_string(schema::DebugAnnotation::kStringValue, value.data(), value.size());
  };
  const auto number = [&writer](const char* name, std::int64_t value) {
    protozero::pbf_writer annotation(writer, TrackEvent::kDebugAnnotations);
    annotation.add_string(schema::DebugAnnotation::kName, name);
    annotation.add_int64(schema::DebugAnnotation::kIntValue, value);
  };
  say("kind", kTensorKindNames[static_cast<std::size_t>(shape.kind)]);
  say("shape", timeline::shape_text(shape));
  if (shape.layer != kNoLayer) number("layer", shape.layer);
  if (shape.micro_batch != kNoMicroBatch) number("micro_batch", shape.micro_batch);
  if (shape.split_dimension >= 0) number("split_dimension", shape.split_dimension);
  packets_.put_event(event.time_ns, text);
}

void PointEvents::start_range(const timeline::Event& event) {
  bool is_new = false;
  const std::uint32_t lane = lanes_.start(event.point->range, is_new);
  if (lane == RangeLanes::kNoLane) {
    ++lost_range_count_;
    return;
  }
  const std::uint64_t uuid = tracks::of_process(process_.info.world_rank,
                                                tracks::kFirstRange + lane);
  if (is_new) add_range_track(uuid);
  const Names::Region names = names_.region(static_cast<RegionId>(event.point->id));
  std::string text;
  protozero::pbf_writer writer(text);
  writer.add_enum(TrackEvent::kType, TrackEvent::kSliceBegin);
  writer.add_uint64(TrackEvent::kTrackUuid, uuid);
  writer.add_uint64(TrackEvent::kNameIid, names.name);
  writer.add_uint64(TrackEvent::kCategoryIids, names.category);
  packets_.put_event(event.time_ns, text);
}

/// A range without a start is not shown.
void PointEvents::stop_range(const timeline::Event& event) {
  const std::uint32_t lane = lanes_.complete(event.point->range);
  if (lane == RangeLanes::kNoLane) return;
  std::string text;
  protozero::pbf_writer writer(text);
  writer.add_enum(TrackEvent::kType, TrackEvent::kSliceEnd);
  writer.add_uint64(TrackEvent::kTrackUuid,
                    tracks::of_process(process_.info.world_rank, tracks::kFirstRange + lane));
  packets_.put_event(event.time_ns, text);
}

void PointEvents::add_range_track(std::uint64_t uuid) {
  std::string track;
  protozero::pbf_writer writer(track);
  writer.add_uint64(TrackDescriptor::kUuid, uuid);
  writer.add_uint64(TrackDescriptor::kParentUuid,
                    tracks::of_process(process_.info.world_rank, tracks::kProcess));
  writer.add_string(TrackDescriptor::kName, "ranges");
  writer.add_int32(TrackDescriptor::kSiblingOrderRank, kRangesRank);
  packets_.put(schema::TracePacket::kTrackDescriptor, track);
}

}  // namespace megascope::perfetto
