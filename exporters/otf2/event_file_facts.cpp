#include "core/record/cpu_reading.h"
#include "core/record/file_fact.h"
#include "exporters/otf2/event_file.h"
#include "exporters/otf2/vocabulary.h"

#include <algorithm>

/// The events of the facts of a call, at its Enter and at its Leave.
namespace megascope::otf2 {
namespace {

std::uint32_t unsigned_tag(const Fact& fact) { return static_cast<std::uint32_t>(fact.tag); }

}  // namespace

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
    case FactKind::kCallSite:  // written with the Enter
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
  // Written last, because it encloses the events of the new handle.
  for (const Fact& fact : frame.facts) {
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
        break;  // OTF2 requires it inside a collective
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
    case FactKind::kMatched:  // no OTF2 event
    case FactKind::kProbed:
    case FactKind::kRequestReady:
      report_found(fact);
      break;
    case FactKind::kValue:
      report_value(fact, frame);
      break;
    default:
      if (is_file_fact(fact.kind)) io_.finish(fact, now_ns_);
      break;  // kPersistentInit: no OTF2 event
  }
}

void EventFile::report_comm(CommId comm) {
  constexpr auto kId = static_cast<std::uint32_t>(EventAttribute::kComm);
  const std::uint32_t id = process_.ids.comm(comm);
  if (id == ProcessIds::kUndefinedComm || OTF2_AttributeList_TestAttributeByID(attributes_, kId))
    return;
  has_attributes_ = true;
  calls_.make(OTF2_AttributeList_AddCommRef, attributes_, kId, id);
}

void EventFile::report_found(const Fact& fact) {
  if (fact.peer == kNoPeer) return;
  const auto report = [&](EventAttribute attribute, std::int64_t value) {
    calls_.make(OTF2_AttributeList_AddInt64, attributes_, static_cast<std::uint32_t>(attribute),
                value);
  };
  report_comm(fact.comm);
  report(EventAttribute::kFoundSource,
         fact.peer < 0 ? fact.peer
                       : static_cast<std::int32_t>(process_.ids.peer(fact.comm, fact.peer)));
  report(EventAttribute::kFoundTag, fact.tag);
  calls_.make(OTF2_AttributeList_AddUint64, attributes_,
              static_cast<std::uint32_t>(EventAttribute::kFoundBytes), fact.bytes);
  has_attributes_ = true;
}

void EventFile::report_value(const Fact& fact, const Frame& frame) {
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
  if (frame.comm != kNoComm) report_comm(frame.comm);
}

void EventFile::finish_request(const Fact& fact) {
  const FactKind started = process_.requests.complete(fact.request).started;
  switch (fact.kind) {
    case FactKind::kSendComplete:
      calls_.make(OTF2_EvtWriter_MpiIsendComplete, writer_, nullptr, now_ns_, fact.request);
      break;
    case FactKind::kRequestFreed:  // for a send OTF2 has the same event; for a receive there is
                                   // none
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
  // Its start is missing, so its operation is unknown.
  if (operation == CollectiveOp::kNone) return;
  calls_.make(OTF2_EvtWriter_NonBlockingCollectiveComplete, writer_, nullptr, now_ns_,
              otf2_operation(operation), process_.ids.comm(fact.comm),
              process_.ids.root(fact.comm, fact.peer), fact.bytes, fact.bytes_received,
              fact.request);
}

}  // namespace megascope::otf2
