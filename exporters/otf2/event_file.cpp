#include "exporters/otf2/event_file.h"

#include "core/record/cpu_reading.h"
#include "core/record/file_fact.h"
#include "exporters/otf2/vocabulary.h"

#include <algorithm>

namespace megascope::otf2 {
namespace {

constexpr std::uint64_t kProgressCalls = 1 << 16;

std::uint32_t unsigned_tag(const Fact& fact) { return static_cast<std::uint32_t>(fact.tag); }

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
        if (fact.kind != FactKind::kCollectiveRequest) continue;
        operations_[{fact.comm, fact.sequence}] = ids_.collective_op(call.region);
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
          ThreadTeam::kNoTeam) {  // nobody is seen to wait for the thread: no sequence number
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

// A mark is a region that takes no time: viewers show it on the thread that told it, which a marker
// of OTF2's is not sure to be.
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

// OTF2 has nothing that overlaps as it likes: two regions that take no time, which the range's
// number joins.
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

// A call lies inside of another when it is entered before the other is left. Where the clock did
// not move in between, the depth decides.
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
  frame.was_left = std::ranges::find(call.facts, FactKind::kLeft, &Fact::kind) != call.facts.end();
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
  const std::uint32_t world = process_.ids.remote_world(call.comm);
  if (world != ProcessIds::kNoText) {
    calls_.make(OTF2_AttributeList_AddStringRef, attributes_,
                static_cast<std::uint32_t>(EventAttribute::kRemoteWorld), world);
  }
  const bool has_place = describe_place(call);
  return has_place || call.count > 1 || world != ProcessIds::kNoText;
}

bool EventFile::describe_place(const Call& call) {
  const auto site = std::ranges::find(call.facts, FactKind::kCallSite, &Fact::kind);
  if (site == call.facts.end()) return false;
  const ProcessPlaces& places = process_.ids.places();
  const std::uint32_t text = places.text(site->request - 1);
  const std::uint32_t line = places.line(site->request - 1);
  if (text == ProcessPlaces::kUndefined) return false;
  calls_.make(OTF2_AttributeList_AddStringRef, attributes_,
              static_cast<std::uint32_t>(EventAttribute::kCallSite), text);
  if (line != ProcessPlaces::kUndefined) {
    calls_.make(OTF2_AttributeList_AddSourceCodeLocationRef, attributes_,
                static_cast<std::uint32_t>(EventAttribute::kSourceCodeLocation), line);
  }
  return true;
}

void EventFile::start(const Fact& fact, Frame& frame) {
  if (is_rma(fact.kind)) {
    frame.is_one_sided = true;
    if (is_rma_operation(fact.kind)) process_.rma.issue(fact);
    if (rma_.start(fact, now_ns_)) frame.facts.push_back(fact);
    return;
  }
  switch (fact.kind) {
    case FactKind::kSend:
      if (fact.peer < 0) break;
      calls_.make(OTF2_EvtWriter_MpiSend, writer_, nullptr, now_ns_,
                  process_.ids.peer(fact.comm, fact.peer), process_.ids.comm(fact.comm),
                  unsigned_tag(fact), fact.bytes);
      break;
    case FactKind::kSendRequest:
      if (fact.peer < 0) break;
      process_.requests.start({fact.request, fact.kind, CollectiveOp::kNone});
      calls_.make(OTF2_EvtWriter_MpiIsend, writer_, nullptr, now_ns_,
                  process_.ids.peer(fact.comm, fact.peer), process_.ids.comm(fact.comm),
                  unsigned_tag(fact), fact.bytes, fact.request);
      break;
    case FactKind::kRecvRequest:
      process_.requests.start({fact.request, fact.kind, CollectiveOp::kNone});
      calls_.make(OTF2_EvtWriter_MpiIrecvRequest, writer_, nullptr, now_ns_, fact.request);
      break;
    case FactKind::kCollectiveRequest:
      frame.makes_handle = true;
      process_.requests.start({fact.request, fact.kind, frame.operation});
      calls_.make(OTF2_EvtWriter_NonBlockingCollectiveRequest, writer_, nullptr, now_ns_,
                  fact.request);
      break;
    case FactKind::kCollective:
      frame.makes_handle = true;
      frame.facts.push_back(fact);
      calls_.make(OTF2_EvtWriter_MpiCollectiveBegin, writer_, nullptr, now_ns_);
      break;
    case FactKind::kCallSite:  // told with the Enter
      break;
    default:
      frame.is_one_sided |= fact.kind == FactKind::kRequestFreed;
      frame.facts.push_back(fact);
      if (is_file_fact(fact.kind)) io_.start(frame.facts.back(), now_ns_, attributes_);
  }
}

void EventFile::leave() {
  Frame& frame = frames_[--open_count_];
  advance(frame.leave_ns);
  if (frame.is_one_sided) finish_one_sided(frame);
  for (const Fact& fact : frame.facts) finish(fact, frame);
  for (const Fact& fact : frame.facts) {  // last: it encloses what the collective made
    if (fact.kind != FactKind::kCollective) continue;
    calls_.make(OTF2_EvtWriter_MpiCollectiveEnd, writer_, nullptr, now_ns_,
                otf2_operation(frame.operation), process_.ids.comm(fact.comm),
                process_.ids.root(fact.comm, fact.peer), fact.bytes, fact.bytes_received);
  }
  if (frame.is_pending || frame.was_left) {
    has_attributes_ = true;
    calls_.make(OTF2_AttributeList_AddUint8, attributes_,
                static_cast<std::uint32_t>(EventAttribute::kUnfinished), frame.was_left ? 2 : 1);
  }
  calls_.make(OTF2_EvtWriter_Leave, writer_, has_attributes_ ? attributes_ : nullptr, now_ns_,
              frame.region);
  has_attributes_ = false;  // writing empties the list
}

void EventFile::finish_one_sided(const Frame& frame) {
  for (const RmaProgress::Done& done : process_.rma.complete(location_, frame.index, frame.facts)) {
    rma_.complete(done, now_ns_);
  }
  for (const Fact& fact : frame.facts) {
    std::uint32_t window = ProcessWindows::kUndefined;
    if (is_rma(fact.kind)) rma_.finish(fact, now_ns_, window);
    if (window != ProcessWindows::kUndefined) summary_.note_window(window);
  }
}

void EventFile::finish(const Fact& fact, const Frame& frame) {
  switch (fact.kind) {
    case FactKind::kRecv:
      if (fact.peer < 0) break;
      calls_.make(OTF2_EvtWriter_MpiRecv, writer_, nullptr, now_ns_,
                  process_.ids.peer(fact.comm, fact.peer), process_.ids.comm(fact.comm),
                  unsigned_tag(fact), fact.bytes);
      break;
    case FactKind::kSendComplete:
    case FactKind::kRecvComplete:
    case FactKind::kCancelled:
    case FactKind::kRequestFreed:
      finish_request(fact);
      break;
    case FactKind::kRequestTest:
      if (fact.comm != kNoComm) {
        rma_.test(fact, now_ns_);
        break;
      }
      calls_.make(OTF2_EvtWriter_MpiRequestTest, writer_, nullptr, now_ns_, fact.request);
      break;
    case FactKind::kCollectiveComplete:
      finish_collective(fact);
      break;
    case FactKind::kCommCreated:
    case FactKind::kCommFreed: {
      const std::uint32_t comm = process_.ids.comm(fact.comm);
      if (!frame.makes_handle || comm == ProcessIds::kUndefinedComm)
        break;  // OTF2 wants it inside of a collective
      summary_.note_comm(comm);
      calls_.make(fact.kind == FactKind::kCommCreated ? OTF2_EvtWriter_CommCreate
                                                      : OTF2_EvtWriter_CommDestroy,
                  writer_, nullptr, now_ns_, comm);
      break;
    }
    case FactKind::kError:
      has_attributes_ = true;
      calls_.make(OTF2_AttributeList_AddInt64, attributes_,
                  static_cast<std::uint32_t>(EventAttribute::kMpiError),
                  static_cast<std::int64_t>(fact.bytes));
      break;
    case FactKind::kMatched:  // no events of OTF2's
    case FactKind::kProbed:
    case FactKind::kRequestReady:
      tell_found(fact);
      break;
    case FactKind::kValue:
      tell_value(fact, frame);
      break;
    default:
      if (is_file_fact(fact.kind)) io_.finish(fact, now_ns_);
      break;  // kPersistentInit: no event of OTF2's
  }
}

void EventFile::tell_comm(CommId comm) {
  constexpr auto kId = static_cast<std::uint32_t>(EventAttribute::kComm);
  const std::uint32_t id = process_.ids.comm(comm);
  if (id == ProcessIds::kUndefinedComm || OTF2_AttributeList_TestAttributeByID(attributes_, kId))
    return;
  has_attributes_ = true;
  calls_.make(OTF2_AttributeList_AddCommRef, attributes_, kId, id);
}

void EventFile::tell_found(const Fact& fact) {
  if (fact.peer == kNoPeer) return;
  const auto tell = [&](EventAttribute attribute, std::int64_t value) {
    calls_.make(OTF2_AttributeList_AddInt64, attributes_, static_cast<std::uint32_t>(attribute),
                value);
  };
  tell_comm(fact.comm);
  tell(EventAttribute::kFoundSource,
       fact.peer < 0 ? fact.peer
                     : static_cast<std::int32_t>(process_.ids.peer(fact.comm, fact.peer)));
  tell(EventAttribute::kFoundTag, fact.tag);
  calls_.make(OTF2_AttributeList_AddUint64, attributes_,
              static_cast<std::uint32_t>(EventAttribute::kFoundBytes), fact.bytes);
  has_attributes_ = true;
}

void EventFile::tell_value(const Fact& fact, const Frame& frame) {
  const ValueName name = value_name_of(fact);
  const std::uint32_t id = static_cast<std::uint32_t>(EventAttribute::kFirstValue) +
                           static_cast<std::uint32_t>(name);
  if (name == ValueName::kCount || OTF2_AttributeList_TestAttributeByID(attributes_, id)) return;
  has_attributes_ = true;
  if (is_real(name)) {
    calls_.make(OTF2_AttributeList_AddDouble, attributes_, id, real_value_of(fact));
  } else {
    calls_.make(OTF2_AttributeList_AddInt64, attributes_, id, value_of(fact));
  }
  if (frame.comm != kNoComm) tell_comm(frame.comm);
}

void EventFile::finish_request(const Fact& fact) {
  const FactKind started = process_.requests.complete(fact.request).started;
  switch (fact.kind) {
    case FactKind::kSendComplete:
      calls_.make(OTF2_EvtWriter_MpiIsendComplete, writer_, nullptr, now_ns_, fact.request);
      break;
    case FactKind::kRequestFreed:  // of a send: OTF2 has the same event for it. Of a receive: none
      if (started != FactKind::kSendRequest) break;
      calls_.make(OTF2_EvtWriter_MpiIsendComplete, writer_, nullptr, now_ns_, fact.request);
      break;
    case FactKind::kCancelled:
      calls_.make(OTF2_EvtWriter_MpiRequestCancelled, writer_, nullptr, now_ns_, fact.request);
      break;
    default:
      if (fact.peer < 0) break;
      calls_.make(OTF2_EvtWriter_MpiIrecv, writer_, nullptr, now_ns_,
                  process_.ids.peer(fact.comm, fact.peer), process_.ids.comm(fact.comm),
                  unsigned_tag(fact), fact.bytes, fact.request);
  }
}

void EventFile::finish_collective(const Fact& fact) {
  CollectiveOp operation = process_.requests.complete(fact.request).operation;
  if (operation == CollectiveOp::kNone)
    operation = process_.elsewhere.operation(fact.comm, fact.sequence);
  if (operation == CollectiveOp::kNone) return;  // its start is lost, and with it what it was
  calls_.make(OTF2_EvtWriter_NonBlockingCollectiveComplete, writer_, nullptr, now_ns_,
              otf2_operation(operation), process_.ids.comm(fact.comm),
              process_.ids.root(fact.comm, fact.peer), fact.bytes, fact.bytes_received,
              fact.request);
}

}  // namespace megascope::otf2
