#include "exporters/perfetto/process_trace.h"

#include "core/record/message_order.h"
#include "exporters/common/names.h"
#include "exporters/common/utf8.h"
#include "exporters/perfetto/schema.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <string>

namespace megascope::perfetto {
namespace {

using schema::TrackDescriptor;
using schema::TrackEvent;
using timeline::Argument;
using timeline::CallArguments;

constexpr std::uint64_t kProgressCalls = 1U << 16;
constexpr std::uint32_t kFirstLaneTrack = 1;
constexpr std::uint32_t kFirstThreadTrack = kFirstLaneTrack + OperationLanes::kMaxLanes;
constexpr std::int32_t kLanesRank = 1 << 20;  // below the threads
constexpr std::size_t kArgumentBytes = 24;    // maximum size of one debug annotation

}  // namespace

ProcessTrace::ProcessTrace(const RecordSource& source, std::int32_t world_rank,
                           timeline::JointFile& file, const Annotations* annotations)
    : source_(source),
      process_(source.process(world_rank)),
      world_rank_(world_rank),
      world_ranks_(process_),
      packets_(file, static_cast<std::uint32_t>(world_rank) + 1),
      names_(process_, packets_),
      waits_(annotations, world_rank, names_, packets_),
      points_(process_, names_, packets_),
      open_(process_.locations.size()),
      flow_ids_(process_) {
  for (const CommDefinition& comm : process_.comms)
    has_others_.push_back(rank_count(comm.members) + rank_count(comm.remote_members) > 1);
  const auto main = std::ranges::find_if(process_.locations, &LocationDefinition::is_main);
  if (main != process_.locations.end()) main_location_ = main->id;
}

void ProcessTrace::write(const std::function<void(std::uint64_t)>& progress) {
  write_preamble();
  const MessageOrder order = MessageOrder::of(source_, world_rank_);
  timeline::Timeline timeline(source_, world_rank_, order);
  timeline::Event event;
  std::uint64_t call_count = 0;
  while (timeline.next(event)) {
    if (!waits_.is_empty()) waits_.before(event);
    if (event.kind == timeline::Event::Kind::kPoint) {
      points_.add(event, thread_uuid(event.location));
      continue;
    }
    if (event.kind == timeline::Event::Kind::kLeave) {
      leave(event);
      continue;
    }
    enter(event);
    if (++call_count % kProgressCalls == 0 && progress) progress(kProgressCalls);
  }
  packets_.flush();
  if (progress) progress(call_count % kProgressCalls);
}

std::uint64_t ProcessTrace::thread_uuid(LocationId location) const {
  return track_uuid(kFirstThreadTrack + location);
}
std::uint64_t ProcessTrace::lane_uuid(std::uint32_t lane) const {
  return track_uuid(kFirstLaneTrack + lane);
}

void ProcessTrace::write_preamble() {
  packets_.put_first(source_.start_realtime_ns(), thread_uuid(main_location_),
                     names_.interned() + waits_.interned());
  write_process_track();
  for (const LocationDefinition& location : process_.locations) write_thread_track(location);
}

void ProcessTrace::write_process_track() {
  const std::string name = timeline::valid_utf8(timeline::process_name(process_.info));
  std::string track;
  protozero::pbf_writer writer(track);
  writer.add_uint64(TrackDescriptor::kUuid, track_uuid(tracks::kProcess));
  writer.add_string(TrackDescriptor::kName, name);
  {
    protozero::pbf_writer process(writer, TrackDescriptor::kProcess);
    process.add_int32(schema::ProcessDescriptor::kPid, tracks::pid_of(world_rank_));
    process.add_string(schema::ProcessDescriptor::kCmdline,
                       timeline::valid_utf8(process_.info.program));
    process.add_int32(schema::ProcessDescriptor::kLegacySortIndex, world_rank_);
    process.add_string(schema::ProcessDescriptor::kProcessName, name);
  }
  writer.add_enum(TrackDescriptor::kChildOrdering, TrackDescriptor::kChildrenExplicit);
  writer.add_int32(TrackDescriptor::kSiblingOrderRank, world_rank_);
  writer.add_enum(TrackDescriptor::kThreadOrdering, TrackDescriptor::kExplicit);
  packets_.put(schema::TracePacket::kTrackDescriptor, track);
}

void ProcessTrace::write_thread_track(const LocationDefinition& location) {
  const auto place = static_cast<std::int32_t>(location.id);
  std::string track;
  protozero::pbf_writer writer(track);
  writer.add_uint64(TrackDescriptor::kUuid, thread_uuid(location.id));
  writer.add_uint64(TrackDescriptor::kParentUuid, track_uuid(tracks::kProcess));
  {
    protozero::pbf_writer thread(writer, TrackDescriptor::kThread);
    thread.add_int32(schema::ThreadDescriptor::kPid, tracks::pid_of(world_rank_));
    thread.add_int64(schema::ThreadDescriptor::kTid, place + 1);  // readers treat 0 as no thread
    thread.add_int32(schema::ThreadDescriptor::kLegacySortIndex, place);
    thread.add_string(schema::ThreadDescriptor::kThreadName,
                      timeline::valid_utf8(timeline::thread_name(location)));
  }
  writer.add_int32(TrackDescriptor::kSiblingOrderRank, place);
  packets_.put(schema::TracePacket::kTrackDescriptor, track);
}

// Viewers merge tracks with equal name and parent and stack their slices.
void ProcessTrace::write_lane_track(std::uint32_t lane) {
  std::string track;
  protozero::pbf_writer writer(track);
  writer.add_uint64(TrackDescriptor::kUuid, lane_uuid(lane));
  writer.add_uint64(TrackDescriptor::kParentUuid, track_uuid(tracks::kProcess));
  writer.add_string(TrackDescriptor::kName, "requests");
  writer.add_int32(TrackDescriptor::kSiblingOrderRank, kLanesRank);
  packets_.put(schema::TracePacket::kTrackDescriptor, track);
}

void ProcessTrace::enter(const timeline::Event& event) {
  const Call& call = *event.call;
  OpenCalls& open = open_[event.location];
  open.marks.push_back({open.flows.size(), open.endings.size()});
  begin_slice(call.region);
  add_track(event.location);
  add_arguments(CallArguments::of(call, world_ranks_, world_rank_));
  collect_flows(event, open);
  packets_.put_event(event.time_ns, event_.bytes());
  if (!waits_.is_empty()) waits_.entered(event, thread_uuid(event.location));
  start_operations(event);
}

void ProcessTrace::begin_slice(RegionId region) {
  const Names::Region names = names_.region(region);
  event_.clear();
  event_.reserve(5 * FieldBuffer::kMaxNumberBytes + timeline::kArgumentNameCount * kArgumentBytes);
  event_.number(TrackEvent::kType, TrackEvent::kSliceBegin);
  event_.number(TrackEvent::kNameIid, names.name);
  event_.number(TrackEvent::kCategoryIids, names.category);
  ++slice_count_;
}

void ProcessTrace::add_track(LocationId location) {
  if (location != main_location_) event_.number(TrackEvent::kTrackUuid, thread_uuid(location));
}

void ProcessTrace::add_arguments(const CallArguments& arguments) {
  for (const Argument& argument : arguments) {
    annotation_.clear();
    annotation_.number(schema::DebugAnnotation::kNameIid, Names::argument(argument.name));
    switch (argument.kind) {
      case Argument::Kind::kNumber:
        annotation_.number(schema::DebugAnnotation::kIntValue,
                           static_cast<std::uint64_t>(argument.number));
        break;
      case Argument::Kind::kReal:
        annotation_.fixed64(schema::DebugAnnotation::kDoubleValue,
                            static_cast<std::uint64_t>(argument.number));
        break;
      case Argument::Kind::kComm:
        annotation_.number(schema::DebugAnnotation::kStringValueIid,
                           Names::comm(static_cast<CommId>(argument.number)));
        break;
      case Argument::Kind::kWindow:
        annotation_.number(schema::DebugAnnotation::kStringValueIid,
                           names_.window(static_cast<WinId>(argument.number)));
        break;
      case Argument::Kind::kFile:
        annotation_.number(schema::DebugAnnotation::kStringValueIid,
                           names_.file(static_cast<FileId>(argument.number)));
        break;
      case Argument::Kind::kCallSite:
        annotation_.number(schema::DebugAnnotation::kStringValueIid,
                           names_.call_site(argument.number));
        break;
      case Argument::Kind::kAny:
        annotation_.number(schema::DebugAnnotation::kStringValueIid, Names::kAny);
        break;
      case Argument::Kind::kTrue:
        annotation_.number(schema::DebugAnnotation::kBoolValue, 1);
        break;
    }
    event_.message(TrackEvent::kDebugAnnotations, annotation_.bytes());
  }
}

// A message arrives when the receiving call returns, so its flow ends at the end of that slice. It
// is not marked as terminating, because with inaccurate clocks its end may precede its start, and a
// terminated flow would then be lost.
void ProcessTrace::collect_flows(const timeline::Event& event, OpenCalls& open) {
  starting_.clear();
  std::size_t message = 0;
  const auto next_flow = [&] {
    return message < event.flow_ids.size() ? event.flow_ids[message++] : 0;
  };
  const events::Handler handler{
      [&](events::Send) {
        const std::uint64_t flow_id = next_flow();
        if (flow_id != 0) starting_.push_back(flow_id);
      },
      [&](events::Receive) {
        const std::uint64_t flow_id = next_flow();
        if (flow_id != 0) open.flows.push_back(flow_id);
      },
      [this](events::Collective collective) {
        const CommId comm = collective.comm();
        if (comm < has_others_.size() && has_others_[comm])
          starting_.push_back(flow_ids_.of_collective(comm, collective.sequence()));
      },
      events::Ignores<events::PostedReceive, events::MatchedProbe, events::FoundMessage,
                      events::Completion, events::RequestUse, events::CollectiveCompletion,
                      events::CommChange, events::RmaOperation, events::RmaSync, events::WindowUse,
                      events::FileTransfer, events::FileUse, events::FileCollective, events::Error,
                      events::LocalBytes, events::CallSite, events::Value, events::Left>()};
  for (const Fact& fact : event.call->facts) events::visit(fact, handler);
  add_flows(starting_);
}

// Short ids are written as varints, which only the deprecated field allows: 4 to 9 bytes instead of
// 10. If an event has both fields, readers ignore the deprecated one.
void ProcessTrace::add_flows(std::span<const std::uint64_t> ids) {
  event_.reserve(ids.size() * FieldBuffer::kMaxNumberBytes);
  const bool is_short = std::ranges::all_of(ids, FlowIds::is_short);
  for (const std::uint64_t id : ids) {
    if (is_short)
      event_.number(TrackEvent::kFlowIdsOld, id);
    else
      event_.fixed64(TrackEvent::kFlowIds, id);
  }
}

void ProcessTrace::start_operations(const timeline::Event& event) {
  const auto end = [&](auto ending) {
    open_[event.location].endings.push_back(
        {ending.fact(), ending.request(), CallArguments::is_reported_at_end(ending)});
  };
  const auto start = [&](auto started) {
    start_operation(event, started.fact(), started.request());
  };
  const events::Handler handler{
      [&](events::Send send) {
        if (!send.is_blocking()) start(send);
      },
      [&](events::PostedReceive receive) { start(receive); },
      [&](events::Receive receive) {
        if (!receive.is_blocking()) end(receive);
      },
      [&](events::Completion completion) { end(completion); },
      [&](events::Collective collective) {
        if (!collective.is_blocking()) start(collective);
      },
      [&](events::CollectiveCompletion collective) { end(collective); },
      [&](events::RmaOperation operation) {
        if (operation.has_mpi_request()) start(operation);
      },
      [&](events::FileTransfer transfer) {
        switch (transfer.stage()) {
          case events::FileTransfer::Stage::kStarted:
            return start(transfer);
          case events::FileTransfer::Stage::kCompleted:
          case events::FileTransfer::Stage::kCancelled:
            return end(transfer);
          case events::FileTransfer::Stage::kBlocking:
          case events::FileTransfer::Stage::kTested:
            return;
        }
      },
      events::Ignores<events::MatchedProbe, events::FoundMessage, events::RequestUse,
                      events::CommChange, events::RmaSync, events::WindowUse, events::FileUse,
                      events::FileCollective, events::Error, events::LocalBytes, events::CallSite,
                      events::Value, events::Left>()};
  for (const Fact& fact : event.call->facts) events::visit(fact, handler);
}

void ProcessTrace::start_operation(const timeline::Event& event, const Fact& fact,
                                   RequestId request) {
  bool is_new = false;
  const std::uint32_t lane = lanes_.start(request, is_new);
  if (lane == OperationLanes::kNoLane) {
    lost_operation_count_ += request != kNoRequest ? 1 : 0;
    return;
  }
  if (is_new) write_lane_track(lane);
  begin_slice(event.call->region);
  event_.number(TrackEvent::kTrackUuid, lane_uuid(lane));
  add_arguments(CallArguments::of_message(fact, world_ranks_));
  packets_.put_event(event.time_ns, event_.bytes());
}

void ProcessTrace::leave(const timeline::Event& event) {
  OpenCalls& open = open_[event.location];
  const OpenCalls::Marks marks = open.marks.back();
  open.marks.pop_back();
  for (std::size_t i = marks.ending; i < open.endings.size(); ++i) {
    const Ending& ending = open.endings[i];
    const std::uint32_t lane = lanes_.complete(ending.request);
    if (lane == OperationLanes::kNoLane) continue;
    event_.clear();
    event_.number(TrackEvent::kType, TrackEvent::kSliceEnd);
    event_.number(TrackEvent::kTrackUuid, lane_uuid(lane));
    if (ending.has_arguments) add_arguments(CallArguments::of_message(ending.fact, world_ranks_));
    packets_.put_event(event.time_ns, event_.bytes());
  }
  open.endings.resize(marks.ending);
  event_.clear();
  event_.number(TrackEvent::kType, TrackEvent::kSliceEnd);
  add_track(event.location);
  add_flows(std::span(open.flows).subspan(marks.flow));
  open.flows.resize(marks.flow);
  packets_.put_event(event.time_ns, event_.bytes());
}

}  // namespace megascope::perfetto
