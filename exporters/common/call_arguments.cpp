#include "exporters/common/call_arguments.h"

#include "exporters/common/file_summary.h"

#include <algorithm>

namespace megascope::timeline {
namespace {

constexpr std::array<std::string_view, kFirstValueName> kNames{"comm",
                                                               "peer",
                                                               "tag",
                                                               "bytes",
                                                               "source",
                                                               "source_tag",
                                                               "bytes_received",
                                                               "buffer_bytes",
                                                               "messages",
                                                               "messages_received",
                                                               "receives",
                                                               "root",
                                                               "error",
                                                               "unfinished",
                                                               "left",
                                                               "cancelled",
                                                               "window",
                                                               "target",
                                                               "exclusive",
                                                               "file",
                                                               "offset",
                                                               "bytes_requested",
                                                               "transfers",
                                                               "file_bytes",
                                                               "size",
                                                               "call_count",
                                                               "call_site",
                                                               "remote_world",
                                                               "ready",
                                                               "entry_uncertain_ns"};

}  // namespace

std::string_view argument_name(ArgumentName name) {
  const auto index = static_cast<std::size_t>(name);
  return index < kFirstValueName ? kNames[index]
                                 : value_name(static_cast<ValueName>(index - kFirstValueName));
}

/// Messages of one call in one direction.
struct Messages {
  events::Maybe<events::Message> first;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;

  void add(events::Message message) {
    if (count++ == 0) first = message;
    bytes += message.bytes();
  }
};

/// Summary of the facts of a call. A handler of events.
struct CallSummary
    : events::Ignores<events::Completion, events::RequestUse, events::CollectiveCompletion,
                      events::CommChange, events::FileCollective, events::Value> {
  Messages sent, received, posted;
  events::Maybe<events::Collective> collective;
  events::Maybe<events::OneSided> one_sided;
  events::Maybe<events::Error> error;
  FileSummary files;
  events::Maybe<events::CallSite> site;
  events::Maybe<events::LocalBytes> local;
  events::Maybe<events::FoundMessage> found;
  bool was_left = false;

  explicit CallSummary(const Call& call) {
    for (const Fact& fact : call.facts) events::visit(fact, *this);
  }

  using Ignores::operator();
  void operator()(events::Send send) { sent.add(send); }
  void operator()(events::Receive receive) { received.add(receive); }
  void operator()(events::MatchedProbe probe) { received.add(probe); }
  void operator()(events::PostedReceive receive) { posted.add(receive); }
  void operator()(events::FoundMessage message) { found = message; }
  void operator()(events::Collective operation) { collective = operation; }
  void operator()(events::RmaOperation operation) { one_sided = operation; }
  void operator()(events::RmaSync sync) { one_sided = sync; }
  void operator()(events::WindowUse use) { one_sided = use; }
  void operator()(events::FileTransfer transfer) { files.add(transfer); }
  void operator()(events::FileUse use) { files.add(use); }
  void operator()(events::Error returned) { error = returned; }
  void operator()(events::CallSite called) { site = called; }
  void operator()(events::LocalBytes bytes) { local = bytes; }
  void operator()(events::Left) { was_left = true; }

  /// The communicator argument, else that of the only message.
  CommId comm(const Call& call) const {
    if (call.comm != kNoComm) return call.comm;
    if (collective) return collective->comm();
    if (one_sided) return one_sided->comm();
    if (files.comm != kNoComm && sent.count + received.count + posted.count == 0) return files.comm;
    if (found) return found->comm();
    const Messages* only = nullptr;
    for (const Messages* messages : {&sent, &received, &posted}) {
      if (messages->count == 0) continue;
      if (only != nullptr || messages->count > 1) return kNoComm;
      only = messages;
    }
    return only == nullptr ? kNoComm : only->first->comm();
  }

  void report_messages(CallArguments& to, const WorldRanks& world_ranks) const {
    if (sent.count == 1) {
      to.add_peer(ArgumentName::kPeer, sent.first->comm(), sent.first->peer(), world_ranks);
      to.add_tag(ArgumentName::kTag, sent.first->tag());
    } else if (sent.count > 1) {
      to.add_number(ArgumentName::kMessages, sent.count);
    }
    if (sent.count > 0) to.add_number(ArgumentName::kBytes, sent.bytes);
    if (received.count > 0) report_received(to, world_ranks);
    if (posted.count == 0) return;
    if (posted.count > 1) to.add_number(ArgumentName::kReceives, posted.count);
    if (posted.count == 1 && sent.count + received.count == 0) {
      to.add_peer(ArgumentName::kPeer, posted.first->comm(), posted.first->peer(), world_ranks);
      to.add_tag(ArgumentName::kTag, posted.first->tag());
    }
    to.add_number(ArgumentName::kBufferBytes, posted.bytes);
  }

  void report_received(CallArguments& to, const WorldRanks& world_ranks) const {
    const bool is_standalone = sent.count == 0;
    if (received.count > 1) {
      to.add_number(ArgumentName::kMessagesReceived, received.count);
    } else {
      to.add_peer(is_standalone ? ArgumentName::kPeer : ArgumentName::kSource,
                  received.first->comm(), received.first->peer(), world_ranks);
      to.add_tag(is_standalone ? ArgumentName::kTag : ArgumentName::kSourceTag,
                 received.first->tag());
    }
    const bool is_plain = is_standalone && received.count == 1;
    to.add_number(is_plain ? ArgumentName::kBytes : ArgumentName::kBytesReceived, received.bytes);
  }

  void report_found(CallArguments& to, const WorldRanks& world_ranks) const {
    if (found->is_ready_request()) to.add(ArgumentName::kReady, Argument::Kind::kTrue);
    if (found->has_message()) to.add_message(*found, world_ranks);
  }

  void report_collective(CallArguments& to, const WorldRanks& world_ranks,
                         std::int32_t my_world_rank) const {
    const std::int32_t root = collective->root() == kSelfRoot
                                  ? my_world_rank
                                  : world_ranks.of(collective->comm(), collective->root());
    if (root >= 0) to.add_number(ArgumentName::kRoot, static_cast<std::uint64_t>(root));
    to.add_number(ArgumentName::kBytes, collective->bytes_sent());
    to.add_number(ArgumentName::kBytesReceived, collective->bytes_received());
  }
};

void CallArguments::add_window(events::OneSided event, const WorldRanks& world_ranks) {
  if (event.window() != kNoWin) add(ArgumentName::kWindow, Argument::Kind::kWindow, event.window());
  if (event.target() >= 0)
    add_peer(ArgumentName::kTarget, event.comm(), event.target(), world_ranks);
}

/// Adds the arguments of an event on a window; nothing for other events.
void CallArguments::add_one_sided(const Fact& fact, const WorldRanks& world_ranks) {
  events::visit(
      fact,
      events::Handler{
          [&](events::RmaOperation operation) {
            add_window(operation, world_ranks);
            add_number(ArgumentName::kBytes, operation.bytes_to_target());
            add_number(ArgumentName::kBytesReceived, operation.bytes_from_target());
          },
          [&](events::RmaSync sync) {
            add_window(sync, world_ranks);
            if (sync.sync() == events::RmaSync::Sync::kLock && sync.is_exclusive())
              add(ArgumentName::kExclusive, Argument::Kind::kTrue);
          },
          [&](events::WindowUse use) {
            add_window(use, world_ranks);
            if (use.use() != events::WindowUse::Use::kFreed && use.bytes() != 0)
              add_number(ArgumentName::kBytes, use.bytes());
          },
          events::Ignores<events::Send, events::PostedReceive, events::Receive,
                          events::MatchedProbe, events::FoundMessage, events::Completion,
                          events::RequestUse, events::Collective, events::CollectiveCompletion,
                          events::CommChange, events::FileTransfer, events::FileUse,
                          events::FileCollective, events::Error, events::LocalBytes,
                          events::CallSite, events::Value, events::Left>()});
}

CallArguments CallArguments::of(const Call& call, const WorldRanks& world_ranks,
                                std::int32_t my_world_rank) {
  CallArguments result;
  const CallSummary summary(call);
  if (const CommId comm = summary.comm(call); comm != kNoComm) {
    result.add(world_ranks.is_remote(comm) ? ArgumentName::kRemoteWorld : ArgumentName::kComm,
               Argument::Kind::kComm, comm);
  }
  if (summary.collective) {
    summary.report_collective(result, world_ranks, my_world_rank);
  } else if (summary.one_sided) {
    result.add_one_sided(summary.one_sided->fact(), world_ranks);
  } else {
    summary.report_messages(result, world_ranks);
  }
  if (summary.found) summary.report_found(result, world_ranks);
  summary.files.report(result, summary.sent.count + summary.received.count > 0);
  if (summary.local) result.add_number(ArgumentName::kBytes, summary.local->bytes());
  result.add_values(call);
  if (summary.error)
    result.add(ArgumentName::kError, Argument::Kind::kNumber, summary.error->code());
  if (call.count > 1) result.add_number(ArgumentName::kCallCount, call.count);
  if (call.uncertain_ns != 0) result.add_number(ArgumentName::kUncertain, call.uncertain_ns);
  if (summary.site)
    result.add(ArgumentName::kCallSite, Argument::Kind::kCallSite, summary.site->site());
  if (summary.was_left) result.add(ArgumentName::kLeft, Argument::Kind::kTrue);
  if (call.is_pending) result.add(ArgumentName::kUnfinished, Argument::Kind::kTrue);
  return result;
}

CallArguments CallArguments::of_message(const Fact& fact, const WorldRanks& world_ranks) {
  CallArguments result;
  const auto report_files = [&](auto access) {
    FileSummary files;
    files.add(access);
    files.report(result, /*has_messages=*/false);
  };
  events::visit(
      fact,
      events::Handler{
          [&](events::Send send) {
            if (!send.is_blocking()) result.add_message(send, world_ranks);
          },
          [&](events::Receive receive) {
            if (!receive.is_blocking()) result.add_message(receive, world_ranks);
          },
          [&](events::PostedReceive receive) {
            result.add_number(ArgumentName::kBufferBytes, receive.bytes());
          },
          [&](events::Collective collective) {
            if (!collective.is_blocking())
              result.add_number(ArgumentName::kBytes, collective.bytes_sent());
          },
          [&](events::RmaOperation operation) {
            if (operation.has_mpi_request()) result.add_one_sided(fact, world_ranks);
          },
          [&](events::Completion completion) {
            if (completion.way() == events::Completion::Way::kCancelled)
              result.add(ArgumentName::kCancelled, Argument::Kind::kTrue);
          },
          [&](events::FileTransfer transfer) {
            report_files(transfer);
            if (transfer.stage() == events::FileTransfer::Stage::kCancelled)
              result.add(ArgumentName::kCancelled, Argument::Kind::kTrue);
          },
          [&](events::FileUse use) { report_files(use); },
          events::Ignores<events::MatchedProbe, events::FoundMessage, events::RequestUse,
                          events::CollectiveCompletion, events::CommChange, events::RmaSync,
                          events::WindowUse, events::FileCollective, events::Error,
                          events::LocalBytes, events::CallSite, events::Value, events::Left>()});
  return result;
}

void CallArguments::add_values(const Call& call) {
  const Argument* const first = end();
  for (const Fact& fact : call.facts) {
    const auto value = events::as<events::Value>(fact);
    if (!value) continue;
    const ValueName name = value->name();
    const auto is_reported = [&](const Argument& argument) {
      return argument.name == argument_of(name);
    };
    if (name == ValueName::kCount || std::any_of(first, end(), is_reported)) continue;
    add(argument_of(name), is_real(name) ? Argument::Kind::kReal : Argument::Kind::kNumber,
        value->number());
  }
}

/// Adds peer, tag and bytes.
void CallArguments::add_message(events::Message message, const WorldRanks& world_ranks) {
  add_peer(ArgumentName::kPeer, message.comm(), message.peer(), world_ranks);
  add_tag(ArgumentName::kTag, message.tag());
  add_number(ArgumentName::kBytes, message.bytes());
}

void CallArguments::add_peer(ArgumentName name, CommId comm, std::int32_t peer,
                             const WorldRanks& world_ranks) {
  if (peer == kAnySource) return add(name, Argument::Kind::kAny);
  const std::int32_t world_rank = world_ranks.of(comm, peer);
  if (world_rank >= 0) add_number(name, static_cast<std::uint64_t>(world_rank));
}

void CallArguments::add_tag(ArgumentName name, std::int32_t tag) {
  if (tag == kAnyTag) return add(name, Argument::Kind::kAny);
  add(name, Argument::Kind::kNumber, tag);
}

}  // namespace megascope::timeline
