#include "exporters/chrome/process_events.h"

#include <type_traits>

/// The facts of calls: arrows of messages and collectives, and operations in flight.
namespace megascope::chrome {
namespace {

using timeline::CallArguments;

constexpr std::string_view kMessage = R"("name":"message","cat":"message")";
constexpr std::string_view kCollective = R"("name":"collective","cat":"collective")";

}  // namespace

void ProcessEvents::add_facts(const timeline::Event& event) {
  std::size_t message = 0;
  const auto add_next_message = [&](bool is_send) {
    if (message < event.flow_ids.size()) add_message(event, is_send, event.flow_ids[message]);
    ++message;
  };
  const events::Handler handler{
      [&](events::Send send) {
        if (!send.is_blocking()) start_operation(event, send.fact(), send.request());
        add_next_message(true);
      },
      [&](events::PostedReceive receive) {
        start_operation(event, receive.fact(), receive.request());
      },
      [&](events::Receive receive) {
        if (!receive.is_blocking()) complete_operation(event, receive);
        add_next_message(false);
      },
      [&](events::Completion completion) { complete_operation(event, completion); },
      [&](events::Collective collective) {
        if (collective.is_blocking()) return add_collective(event, collective);
        start_collective(event, collective);
        start_operation(event, collective.fact(), collective.request());
      },
      [&](events::CollectiveCompletion collective) { complete_operation(event, collective); },
      [&](events::RmaOperation operation) {
        if (operation.has_mpi_request())
          start_operation(event, operation.fact(), operation.request());
      },
      [&](events::FileTransfer transfer) {
        switch (transfer.stage()) {
          case events::FileTransfer::Stage::kStarted:
            return start_operation(event, transfer.fact(), transfer.request());
          case events::FileTransfer::Stage::kCompleted:
          case events::FileTransfer::Stage::kCancelled:
            return complete_operation(event, transfer);
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

void ProcessEvents::add_message(const timeline::Event& event, bool is_send, std::uint64_t flow_id) {
  if (flow_id == 0) return;
  if (event.leave_ns == event.time_ns) {
    ++lost_arrow_count_;
    return;
  }
  if (is_send) {
    add_flow('s', kMessage, flow_id, event.location, event.time_ns);
  } else {
    add_flow('f', kMessage, flow_id, event.location, event.leave_ns - 1);
  }
}

void ProcessEvents::add_collective(const timeline::Event& event, events::Collective collective) {
  if (event.leave_ns == event.time_ns) {
    ++lost_arrow_count_;
    return;
  }
  const CollectiveArrows::Part part = arrows_.part_of(collective, operation_of(event.call->region));
  if (part.start != 0) add_flow('s', kCollective, part.start, event.location, event.time_ns);
  if (part.step != 0) add_flow('t', kCollective, part.step, event.location, event.leave_ns - 1);
  for (const std::uint64_t id : part.ends)
    add_flow('f', kCollective, id, event.location, event.leave_ns - 1);
}

void ProcessEvents::add_flow(char phase, std::string_view kind, std::uint64_t id,
                             LocationId location, std::uint64_t time_ns) {
  begin_event(phase) << "," << kind << R"(,"id":"0x)";
  text_.hex(id) << "\"";
  if (phase == 'f') text_ << R"(,"bp":"e")";
  add_place(location, time_ns);
  end_event();
}

/// Writes the arrows of a nonblocking collective that starts.
void ProcessEvents::start_collective(const timeline::Event& event, events::Collective collective) {
  if (event.leave_ns == event.time_ns) return;
  const CollectiveArrows::Part part = arrows_.part_of(collective, operation_of(event.call->region));
  if (part.start != 0) add_flow('s', kCollective, part.start, event.location, event.time_ns);
}

void ProcessEvents::start_operation(const timeline::Event& event, const Fact& fact,
                                    RequestId request) {
  if (request == kNoRequest) return;
  Operation& operation = operations_[request];
  operation = {++operation_count_, event.call->region};
  begin_event('b') << "," << region_text(operation.region) << R"(,"id2":{"local":"0x)";
  text_.hex(operation.number) << R"("})";
  add_place(event.location, event.time_ns);
  add_arguments(CallArguments::of_message(fact, world_ranks_));
  end_event();
}

template <class Ending>
void ProcessEvents::complete_operation(const timeline::Event& event, Ending ending) {
  Operation operation;
  if (!operations_.take(ending.request(), operation)) return;
  if constexpr (std::is_same_v<Ending, events::CollectiveCompletion>) {
    if (event.leave_ns != event.time_ns) complete_collective(event, ending, operation.region);
  }
  begin_event('e') << "," << region_text(operation.region) << R"(,"id2":{"local":"0x)";
  text_.hex(operation.number) << R"("})";
  add_place(event.location, event.leave_ns);
  if (CallArguments::is_reported_at_end(ending)) {
    add_arguments(CallArguments::of_message(ending.fact(), world_ranks_));
  }
  end_event();
}

void ProcessEvents::complete_collective(const timeline::Event& event,
                                        events::CollectiveCompletion collective, RegionId region) {
  const CollectiveArrows::Part part = arrows_.part_of(collective, operation_of(region));
  if (part.step != 0) add_flow('t', kCollective, part.step, event.location, event.leave_ns - 1);
  for (const std::uint64_t id : part.ends)
    add_flow('f', kCollective, id, event.location, event.leave_ns - 1);
}

}  // namespace megascope::chrome
