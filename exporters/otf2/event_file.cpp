#include "exporters/otf2/event_file.h"

#include "core/record/cpu_reading.h"
#include "exporters/otf2/vocabulary.h"

#include <algorithm>

namespace megascope::otf2 {
namespace {

constexpr std::uint64_t kProgressCalls = 1 << 16;

}  // namespace

CollectiveOp StartedElsewhere::operation(CommId comm, std::uint32_t sequence) {
  if (!is_scanned_) scan();
  is_scanned_ = true;
  const auto found = operations_.find({comm, sequence});
  return found == operations_.end() ? CollectiveOp::kNone : found->second;
}

void StartedElsewhere::scan() {
  const auto& locations = source_.process(world_rank_).locations;
  if (locations.size() < 2) return;
  for (const LocationDefinition& location : locations) {
    const auto calls = source_.calls(world_rank_, location.id);
    for (Call call; calls->next(call);) {
      for (const Fact& fact : call.facts) {
        const auto collective = events::as<events::Collective>(fact);
        if (!collective || collective->is_blocking()) continue;
        operations_[{collective->comm(), collective->sequence()}] = ids_.collective_op(call.region);
      }
    }
  }
}

EventFile::EventFile(OTF2_EvtWriter* writer, ProcessState& process, LocationId location,
                     EventSummary& summary)
    : writer_(writer),
      process_(process),
      location_(location),
      rma_(writer, calls_, process.ids.windows()),
      summary_(summary),
      io_(writer, calls_, process.io),
      attributes_(OTF2_AttributeList_New()) {
  if (attributes_ == nullptr) calls_.fail(OTF2_ERROR_MEM_ALLOC_FAILED);
}

EventFile::~EventFile() {
  if (attributes_ != nullptr) OTF2_AttributeList_Delete(attributes_);
}

OTF2_ErrorCode EventFile::write(CallStream& calls, PointStream* points, const ThreadTeam& team,
                                const std::function<void(std::uint64_t)>& progress) {
  points_ = points != nullptr && next_of_program(*points, point_) ? points : nullptr;
  for (Call call; !calls_.have_failed() && calls.next(call);) {
    add_points_until(call.enter_ns, team);
    begin_thread(call.enter_ns, team);
    leave_until(call);
    enter(call);
    if (++call_count_ % kProgressCalls == 0 && progress) progress(kProgressCalls);
  }
  add_points_until(UINT64_MAX, team);
  while (open_count_ > 0 && !calls_.have_failed()) leave();
  if (has_begun_ &&
      team.comm !=
          ThreadTeam::kNoTeam) {  // no event waits for the thread, so it has no sequence number
    calls_.make(OTF2_EvtWriter_ThreadEnd, writer_, nullptr, now_ns_, team.comm,
                OTF2_UNDEFINED_UINT64);
  }
  if (progress) progress(call_count_ % kProgressCalls);
  summary_.last_time_ns = std::max(summary_.last_time_ns, now_ns_);
  return calls_.error();
}

void EventFile::begin_thread(std::uint64_t time_ns, const ThreadTeam& team) {
  if (has_begun_) return;
  has_begun_ = true;
  if (team.comm == ThreadTeam::kNoTeam) return;
  calls_.make(OTF2_EvtWriter_ThreadBegin, writer_, nullptr, advance(time_ns), team.comm,
              team.sequence);
}

void EventFile::add_points_until(std::uint64_t time_ns, const ThreadTeam& team) {
  while (points_ != nullptr && !calls_.have_failed() && point_.time_ns < time_ns) {
    begin_thread(point_.time_ns, team);
    leave_before(point_.time_ns);
    add(point_);
    if (!next_of_program(*points_, point_)) points_ = nullptr;
  }
}

void EventFile::leave_before(std::uint64_t time_ns) {
  while (open_count_ > 0 && frames_[open_count_ - 1].leave_ns < time_ns) leave();
}

// A mark is a zero-duration region, which viewers show on the thread that recorded it. That is not
// guaranteed for OTF2 markers.
void EventFile::add(const Point& point) {
  advance(point.time_ns);
  if (point.kind == PointKind::kRangeStart || point.kind == PointKind::kRangeStop)
    return add_range(point);
  if (point.kind == PointKind::kMark) {
    const std::uint32_t region = process_.ids.region(static_cast<RegionId>(point.id));
    if (region == process_.ids.undefined_region()) summary_.has_undefined_region = true;
    calls_.make(OTF2_EvtWriter_Enter, writer_, nullptr, now_ns_, region);
    calls_.make(OTF2_EvtWriter_Leave, writer_, nullptr, now_ns_, region);
  }
  const std::uint32_t counter = point.kind == PointKind::kCounter
                                    ? process_.ids.counters().counter(point.id)
                                    : ProcessCounters::kUndefined;
  if (counter == ProcessCounters::kUndefined) return;
  const OTF2_Type type = OTF2_TYPE_DOUBLE;
  OTF2_MetricValue value;
  value.floating_point = point.value;
  calls_.make(OTF2_EvtWriter_Metric, writer_, nullptr, now_ns_, counter, 1, &type, &value);
}

// OTF2 has no overlapping intervals. A range is written as two zero-duration regions with the
// range's number.
void EventFile::add_range(const Point& point) {
  const std::uint32_t region = process_.ids.region(static_cast<RegionId>(point.id));
  if (region == process_.ids.undefined_region()) summary_.has_undefined_region = true;
  const auto attribute = point.kind == PointKind::kRangeStart ? EventAttribute::kRangeStart
                                                              : EventAttribute::kRangeStop;
  calls_.make(OTF2_AttributeList_AddUint64, attributes_, static_cast<std::uint32_t>(attribute),
              point.range);
  calls_.make(OTF2_EvtWriter_Enter, writer_, attributes_, now_ns_, region);
  calls_.make(OTF2_EvtWriter_Leave, writer_, nullptr, now_ns_, region);
}

std::uint64_t EventFile::advance(std::uint64_t time_ns) {
  now_ns_ = std::max(now_ns_, time_ns);
  return now_ns_;
}

// A call is inside another one if it is entered before the other is left. With equal times the
// depth decides.
void EventFile::leave_until(const Call& next) {
  while (open_count_ > 0) {
    const Frame& top = frames_[open_count_ - 1];
    const bool is_inside = next.enter_ns < top.leave_ns ||
                           (next.enter_ns == top.leave_ns && next.depth > top.depth);
    if (is_inside) return;
    leave();
  }
}

void EventFile::enter(const Call& call) {
  if (open_count_ == frames_.size()) frames_.emplace_back();
  Frame& frame = frames_[open_count_++];
  frame.leave_ns = call.leave_ns;
  frame.region = process_.ids.region(call.region);
  frame.operation = process_.ids.collective_op(call.region);
  frame.depth = call.depth;
  frame.comm = call.comm;
  frame.is_pending = call.is_pending;
  frame.was_left = events::find<events::Left>(call.facts).has_value();
  frame.makes_handle = false;
  frame.is_one_sided = false;
  frame.index = call_count_;
  frame.facts.clear();
  if (frame.region == process_.ids.undefined_region()) summary_.has_undefined_region = true;
  const bool has_attributes = describe(call);
  calls_.make(OTF2_EvtWriter_Enter, writer_, has_attributes ? attributes_ : nullptr,
              advance(call.enter_ns), frame.region);
  for (const Fact& fact : call.facts) start(fact, frame);
}

bool EventFile::describe(const Call& call) {
  if (call.count > 1) {
    calls_.make(OTF2_AttributeList_AddUint64, attributes_,
                static_cast<std::uint32_t>(EventAttribute::kCallCount), call.count);
  }
  if (call.uncertain_ns != 0) {
    calls_.make(OTF2_AttributeList_AddUint64, attributes_,
                static_cast<std::uint32_t>(EventAttribute::kUncertain), call.uncertain_ns);
  }
  const std::uint32_t world = process_.ids.remote_world(call.comm);
  if (world != ProcessIds::kNoText) {
    calls_.make(OTF2_AttributeList_AddStringRef, attributes_,
                static_cast<std::uint32_t>(EventAttribute::kRemoteWorld), world);
  }
  const bool has_call_site = describe_call_site(call);
  return has_call_site || call.count > 1 || call.uncertain_ns != 0 || world != ProcessIds::kNoText;
}

bool EventFile::describe_call_site(const Call& call) {
  const auto site = events::find<events::CallSite>(call.facts);
  if (!site) return false;
  const ProcessCallSites& call_sites = process_.ids.call_sites();
  const std::uint32_t text = call_sites.text(site->site());
  const std::uint32_t line = call_sites.line(site->site());
  if (text == ProcessCallSites::kUndefined) return false;
  calls_.make(OTF2_AttributeList_AddStringRef, attributes_,
              static_cast<std::uint32_t>(EventAttribute::kCallSite), text);
  if (line != ProcessCallSites::kUndefined) {
    calls_.make(OTF2_AttributeList_AddSourceCodeLocationRef, attributes_,
                static_cast<std::uint32_t>(EventAttribute::kSourceCodeLocation), line);
  }
  return true;
}

}  // namespace megascope::otf2
