#include "core/record/cpu_reading.h"
#include "exporters/otf2/event_file.h"
#include "exporters/otf2/vocabulary.h"

#include <algorithm>

/// The events of the facts of a call, at its Enter and at its Leave.
namespace megascope::otf2 {
namespace {

using Started = RequestTable::Started;

std::uint32_t unsigned_tag(events::Message message) {
  return static_cast<std::uint32_t>(message.tag());
}

}  // namespace

void EventFile::start(const Fact& fact, Frame& frame) {
  const auto keep = [&](auto) { frame.facts.push_back(fact); };
  const auto start_one_sided = [&](auto event) {
    frame.is_one_sided = true;
    if (rma_.start(event, now_ns_)) frame.facts.push_back(fact);
  };
  const auto start_on_file = [&](auto event) {
    frame.facts.push_back(fact);
    io_.start(event, frame.facts.back(), now_ns_, attributes_);
  };
  events::visit(
      fact,
      events::Handler{
          [this](events::Send send) { start_send(send); },
          [this](events::PostedReceive receive) {
            process_.requests.start({receive.request(), Started::kReceive, CollectiveOp::kNone});
            calls_.make(OTF2_EvtWriter_MpiIrecvRequest, writer_, nullptr, now_ns_,
                        receive.request());
          },
          [&](events::Collective collective) { start_collective(collective, frame); },
          [&](events::RmaOperation operation) {
            frame.is_one_sided = true;
            process_.rma.issue(fact);
            rma_.start(operation, now_ns_);
          },
          events::on<events::RmaSync, events::WindowUse>(start_one_sided),
          [&](events::Completion completion) {
            using Way = events::Completion::Way;
            frame.is_one_sided |= completion.way() == Way::kOneSided ||
                                  completion.way() == Way::kFreed;
            frame.facts.push_back(fact);
          },
          events::on<events::FileTransfer, events::FileUse>(start_on_file),
          events::on<events::Receive, events::MatchedProbe, events::FoundMessage,
                     events::RequestUse, events::CollectiveCompletion, events::CommChange,
                     events::Error, events::Value>(keep),
          // The call site is written with the Enter.
          events::Ignores<events::FileCollective, events::LocalBytes, events::CallSite,
                          events::Left>()});
}

void EventFile::start_send(events::Send send) {
  if (send.peer() < 0) return;
  const std::uint32_t peer = process_.ids.peer(send.comm(), send.peer());
  const std::uint32_t comm = process_.ids.comm(send.comm());
  if (send.is_blocking()) {
    calls_.make(OTF2_EvtWriter_MpiSend, writer_, nullptr, now_ns_, peer, comm, unsigned_tag(send),
                send.bytes());
    return;
  }
  process_.requests.start({send.request(), Started::kSend, CollectiveOp::kNone});
  calls_.make(OTF2_EvtWriter_MpiIsend, writer_, nullptr, now_ns_, peer, comm, unsigned_tag(send),
              send.bytes(), send.request());
}

void EventFile::start_collective(events::Collective collective, Frame& frame) {
  frame.makes_handle = true;
  if (collective.is_blocking()) {
    frame.facts.push_back(collective.fact());
    calls_.make(OTF2_EvtWriter_MpiCollectiveBegin, writer_, nullptr, now_ns_);
    return;
  }
  process_.requests.start({collective.request(), Started::kCollective, frame.operation});
  calls_.make(OTF2_EvtWriter_NonBlockingCollectiveRequest, writer_, nullptr, now_ns_,
              collective.request());
}

void EventFile::leave() {
  Frame& frame = frames_[--open_count_];
  advance(frame.leave_ns);
  if (frame.is_one_sided) finish_one_sided(frame);
  for (const Fact& fact : frame.facts) finish(fact, frame);
  // Written last, because it encloses the events of the new handle.
  for (const Fact& fact : frame.facts) {
    const auto collective = events::as<events::Collective>(fact);
    if (!collective) continue;
    calls_.make(OTF2_EvtWriter_MpiCollectiveEnd, writer_, nullptr, now_ns_,
                otf2_operation(frame.operation), process_.ids.comm(collective->comm()),
                process_.ids.root(collective->comm(), collective->root()), collective->bytes_sent(),
                collective->bytes_received());
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
    const std::uint32_t window = rma_.finish(fact, now_ns_);
    if (window != ProcessWindows::kUndefined) summary_.note_window(window);
  }
}

void EventFile::finish(const Fact& fact, const Frame& frame) {
  events::visit(
      fact, events::Handler{
                [this](events::Receive receive) { finish_receive(receive); },
                [this](events::Completion completion) { finish_request(completion); },
                [this](events::RequestUse use) { test_request(use); },
                [this](events::CollectiveCompletion collective) { finish_collective(collective); },
                [&](events::CommChange change) { finish_comm(change, frame); },
                [this](events::Error error) { report_error(error); },
                // No OTF2 event.
                events::on<events::MatchedProbe, events::FoundMessage>(
                    [this](auto message) { report_found(message); }),
                [&](events::Value value) { report_value(value, frame); },
                events::on<events::FileTransfer, events::FileUse>(
                    [this](auto event) { io_.finish(event, now_ns_); }),
                // Written at the Enter, by leave() or by finish_one_sided(); or no OTF2 event.
                events::Ignores<events::Send, events::PostedReceive, events::Collective,
                                events::RmaOperation, events::RmaSync, events::WindowUse,
                                events::FileCollective, events::LocalBytes, events::CallSite,
                                events::Left>()});
}

void EventFile::test_request(events::RequestUse use) {
  if (use.use() != events::RequestUse::Use::kTested) return;
  if (use.is_one_sided()) return rma_.test(use, now_ns_);
  calls_.make(OTF2_EvtWriter_MpiRequestTest, writer_, nullptr, now_ns_, use.request());
}

void EventFile::finish_comm(events::CommChange change, const Frame& frame) {
  const std::uint32_t comm = process_.ids.comm(change.comm());
  if (!frame.makes_handle || comm == ProcessIds::kUndefinedComm)
    return;  // OTF2 requires it inside a collective
  summary_.note_comm(comm);
  calls_.make(change.is_created() ? OTF2_EvtWriter_CommCreate : OTF2_EvtWriter_CommDestroy, writer_,
              nullptr, now_ns_, comm);
}

void EventFile::report_error(events::Error error) {
  has_attributes_ = true;
  calls_.make(OTF2_AttributeList_AddInt64, attributes_,
              static_cast<std::uint32_t>(EventAttribute::kMpiError), error.code());
}

void EventFile::report_comm(CommId comm) {
  constexpr auto kId = static_cast<std::uint32_t>(EventAttribute::kComm);
  const std::uint32_t id = process_.ids.comm(comm);
  if (id == ProcessIds::kUndefinedComm || OTF2_AttributeList_TestAttributeByID(attributes_, kId))
    return;
  has_attributes_ = true;
  calls_.make(OTF2_AttributeList_AddCommRef, attributes_, kId, id);
}

void EventFile::report_found(events::Message message) {
  if (message.peer() == kNoPeer) return;
  const auto report = [&](EventAttribute attribute, std::int64_t value) {
    calls_.make(OTF2_AttributeList_AddInt64, attributes_, static_cast<std::uint32_t>(attribute),
                value);
  };
  report_comm(message.comm());
  report(EventAttribute::kFoundSource,
         message.peer() < 0
             ? message.peer()
             : static_cast<std::int32_t>(process_.ids.peer(message.comm(), message.peer())));
  report(EventAttribute::kFoundTag, message.tag());
  calls_.make(OTF2_AttributeList_AddUint64, attributes_,
              static_cast<std::uint32_t>(EventAttribute::kFoundBytes), message.bytes());
  has_attributes_ = true;
}

void EventFile::report_value(events::Value value, const Frame& frame) {
  const ValueName name = value.name();
  const std::uint32_t id = static_cast<std::uint32_t>(EventAttribute::kFirstValue) +
                           static_cast<std::uint32_t>(name);
  if (name == ValueName::kCount || OTF2_AttributeList_TestAttributeByID(attributes_, id)) return;
  has_attributes_ = true;
  if (is_real(name)) {
    calls_.make(OTF2_AttributeList_AddDouble, attributes_, id, value.real());
  } else {
    calls_.make(OTF2_AttributeList_AddInt64, attributes_, id, value.number());
  }
  if (frame.comm != kNoComm) report_comm(frame.comm);
}

void EventFile::finish_receive(events::Receive receive) {
  if (!receive.is_blocking()) process_.requests.complete(receive.request());
  if (receive.peer() < 0) return;
  const std::uint32_t peer = process_.ids.peer(receive.comm(), receive.peer());
  const std::uint32_t comm = process_.ids.comm(receive.comm());
  if (receive.is_blocking())
    calls_.make(OTF2_EvtWriter_MpiRecv, writer_, nullptr, now_ns_, peer, comm,
                unsigned_tag(receive), receive.bytes());
  else
    calls_.make(OTF2_EvtWriter_MpiIrecv, writer_, nullptr, now_ns_, peer, comm,
                unsigned_tag(receive), receive.bytes(), receive.request());
}

void EventFile::finish_request(events::Completion completion) {
  using Way = events::Completion::Way;
  const RequestId request = completion.request();
  switch (completion.way()) {
    case Way::kOneSided:  // written by finish_one_sided()
      return;
    case Way::kSent:
      process_.requests.complete(request);
      return calls_.make(OTF2_EvtWriter_MpiIsendComplete, writer_, nullptr, now_ns_, request);
    case Way::kFreed:  // for a send OTF2 has the same event; for a receive there is none
      if (process_.requests.complete(request).started != Started::kSend) return;
      return calls_.make(OTF2_EvtWriter_MpiIsendComplete, writer_, nullptr, now_ns_, request);
    case Way::kCancelled:
      process_.requests.complete(request);
      return calls_.make(OTF2_EvtWriter_MpiRequestCancelled, writer_, nullptr, now_ns_, request);
  }
}

void EventFile::finish_collective(events::CollectiveCompletion collective) {
  const CommId comm = collective.comm();
  CollectiveOp operation = process_.requests.complete(collective.request()).operation;
  if (operation == CollectiveOp::kNone)
    operation = process_.elsewhere.operation(comm, collective.sequence());
  // Its start is missing, so its operation is unknown.
  if (operation == CollectiveOp::kNone) return;
  calls_.make(OTF2_EvtWriter_NonBlockingCollectiveComplete, writer_, nullptr, now_ns_,
              otf2_operation(operation), process_.ids.comm(comm),
              process_.ids.root(comm, collective.root()), collective.bytes_sent(),
              collective.bytes_received(), collective.request());
}

}  // namespace megascope::otf2
