#include "exporters/common/call_arguments.h"

#include "core/record/file_fact.h"
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
                                                               "ready"};

}  // namespace

std::string_view argument_name(ArgumentName name) {
  const auto index = static_cast<std::size_t>(name);
  return index < kFirstValueName ? kNames[index]
                                 : value_name(static_cast<ValueName>(index - kFirstValueName));
}

/// Messages of one call in one direction.
struct Messages {
  const Fact* first = nullptr;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;

  void add(const Fact& fact) {
    if (count++ == 0) first = &fact;
    bytes += fact.bytes;
  }
};

/// Summary of the facts of a call.
struct CallSummary {
  Messages sent, received, posted;
  const Fact* collective = nullptr;
  const Fact* one_sided = nullptr;
  const Fact* error = nullptr;
  FileSummary files;
  const Fact* site = nullptr;
  const Fact* local = nullptr;
  const Fact* found = nullptr;  ///< found by a probe, or by a test of a request
  bool was_left = false;

  explicit CallSummary(const Call& call) {
    for (const Fact& fact : call.facts) add(fact);
  }

  void add(const Fact& fact) {
    if (is_file_fact(fact.kind)) return files.add(fact);
    switch (fact.kind) {
      case FactKind::kSend:
      case FactKind::kSendRequest:
        return sent.add(fact);
      case FactKind::kRecv:
      case FactKind::kRecvComplete:
      case FactKind::kMatched:
        return received.add(fact);
      case FactKind::kRecvRequest:
        return posted.add(fact);
      case FactKind::kCollective:
      case FactKind::kCollectiveRequest:
        collective = &fact;
        return;
      case FactKind::kError:
        error = &fact;
        return;
      case FactKind::kCallSite:
        site = &fact;
        return;
      case FactKind::kLocalBytes:
        local = &fact;
        return;
      case FactKind::kProbed:
      case FactKind::kRequestReady:
        found = &fact;
        return;
      case FactKind::kLeft:
        was_left = true;
        return;
      default:
        if (names_window(fact.kind)) one_sided = &fact;
        return;
    }
  }

  /// The communicator argument, else that of the only message.
  CommId comm(const Call& call) const {
    if (call.comm != kNoComm) return call.comm;
    if (collective != nullptr) return collective->comm;
    if (one_sided != nullptr) return one_sided->comm;
    if (files.comm != kNoComm && sent.count + received.count + posted.count == 0) return files.comm;
    if (found != nullptr) return found->comm;
    const Fact* only = nullptr;
    for (const Messages* messages : {&sent, &received, &posted}) {
      if (messages->count == 0) continue;
      if (only != nullptr || messages->count > 1) return kNoComm;
      only = messages->first;
    }
    return only == nullptr ? kNoComm : only->comm;
  }

  void report_messages(CallArguments& to, const WorldRanks& world_ranks) const {
    if (sent.count == 1) {
      to.add_peer(ArgumentName::kPeer, *sent.first, world_ranks);
      to.add_tag(ArgumentName::kTag, sent.first->tag);
    } else if (sent.count > 1) {
      to.add_number(ArgumentName::kMessages, sent.count);
    }
    if (sent.count > 0) to.add_number(ArgumentName::kBytes, sent.bytes);
    if (received.count > 0) report_received(to, world_ranks);
    if (posted.count == 0) return;
    if (posted.count > 1) to.add_number(ArgumentName::kReceives, posted.count);
    if (posted.count == 1 && sent.count + received.count == 0) {
      to.add_peer(ArgumentName::kPeer, *posted.first, world_ranks);
      to.add_tag(ArgumentName::kTag, posted.first->tag);
    }
    to.add_number(ArgumentName::kBufferBytes, posted.bytes);
  }

  void report_received(CallArguments& to, const WorldRanks& world_ranks) const {
    const bool is_standalone = sent.count == 0;
    if (received.count > 1) {
      to.add_number(ArgumentName::kMessagesReceived, received.count);
    } else {
      to.add_peer(is_standalone ? ArgumentName::kPeer : ArgumentName::kSource, *received.first,
                  world_ranks);
      to.add_tag(is_standalone ? ArgumentName::kTag : ArgumentName::kSourceTag,
                 received.first->tag);
    }
    const bool is_plain = is_standalone && received.count == 1;
    to.add_number(is_plain ? ArgumentName::kBytes : ArgumentName::kBytesReceived, received.bytes);
  }

  void report_found(CallArguments& to, const WorldRanks& world_ranks) const {
    if (found->kind == FactKind::kRequestReady) to.add(ArgumentName::kReady, Argument::Kind::kTrue);
    if (found->peer == kNoPeer) return;
    to.add_peer(ArgumentName::kPeer, *found, world_ranks);
    to.add_tag(ArgumentName::kTag, found->tag);
    to.add_number(ArgumentName::kBytes, found->bytes);
  }

  void report_collective(CallArguments& to, const WorldRanks& world_ranks,
                         std::int32_t my_world_rank) const {
    const std::int32_t root = collective->peer == kSelfRoot
                                  ? my_world_rank
                                  : world_ranks.of(collective->comm, collective->peer);
    if (root >= 0) to.add_number(ArgumentName::kRoot, static_cast<std::uint64_t>(root));
    to.add_number(ArgumentName::kBytes, collective->bytes);
    to.add_number(ArgumentName::kBytesReceived, collective->bytes_received);
  }
};

void CallArguments::add_one_sided(const Fact& fact, const WorldRanks& world_ranks) {
  if (window_of(fact) != kNoWin)
    add(ArgumentName::kWindow, Argument::Kind::kWindow, window_of(fact));
  if (fact.peer >= 0) add_peer(ArgumentName::kTarget, fact, world_ranks);
  const bool is_operation = is_rma_operation(fact.kind);
  const bool has_memory = fact.kind == FactKind::kWinCreated || fact.kind == FactKind::kWindow;
  if (is_operation || (has_memory && fact.bytes != 0)) add_number(ArgumentName::kBytes, fact.bytes);
  if (is_operation) add_number(ArgumentName::kBytesReceived, fact.bytes_received);
  if (fact.kind == FactKind::kLock && (fact.bytes & rma::kExclusive) != 0) {
    add(ArgumentName::kExclusive, Argument::Kind::kTrue);
  }
}

CallArguments CallArguments::of(const Call& call, const WorldRanks& world_ranks,
                                std::int32_t my_world_rank) {
  CallArguments result;
  const CallSummary summary(call);
  if (const CommId comm = summary.comm(call); comm != kNoComm) {
    result.add(world_ranks.is_remote(comm) ? ArgumentName::kRemoteWorld : ArgumentName::kComm,
               Argument::Kind::kComm, comm);
  }
  if (summary.collective != nullptr) {
    summary.report_collective(result, world_ranks, my_world_rank);
  } else if (summary.one_sided != nullptr) {
    result.add_one_sided(*summary.one_sided, world_ranks);
  } else {
    summary.report_messages(result, world_ranks);
  }
  if (summary.found != nullptr) summary.report_found(result, world_ranks);
  summary.files.report(result, summary.sent.count + summary.received.count > 0);
  if (summary.local != nullptr) result.add_number(ArgumentName::kBytes, summary.local->bytes);
  result.add_values(call);
  if (summary.error != nullptr) result.add_number(ArgumentName::kError, summary.error->bytes);
  if (call.count > 1) result.add_number(ArgumentName::kCallCount, call.count);
  if (summary.site != nullptr)
    result.add(ArgumentName::kCallSite, Argument::Kind::kCallSite,
               std::int64_t{summary.site->request} - 1);
  if (summary.was_left) result.add(ArgumentName::kLeft, Argument::Kind::kTrue);
  if (call.is_pending) result.add(ArgumentName::kUnfinished, Argument::Kind::kTrue);
  return result;
}

CallArguments CallArguments::of_message(const Fact& fact, const WorldRanks& world_ranks) {
  CallArguments result;
  switch (fact.kind) {
    case FactKind::kSendRequest:
    case FactKind::kRecvComplete:
      result.add_peer(ArgumentName::kPeer, fact, world_ranks);
      result.add_tag(ArgumentName::kTag, fact.tag);
      result.add_number(ArgumentName::kBytes, fact.bytes);
      break;
    case FactKind::kRecvRequest:
      result.add_number(ArgumentName::kBufferBytes, fact.bytes);
      break;
    case FactKind::kCollectiveRequest:
      result.add_number(ArgumentName::kBytes, fact.bytes);
      break;
    case FactKind::kRput:
    case FactKind::kRget:
    case FactKind::kRaccumulate:
    case FactKind::kRgetAccumulate:
      result.add_one_sided(fact, world_ranks);
      break;
    case FactKind::kCancelled:
      result.add(ArgumentName::kCancelled, Argument::Kind::kTrue);
      break;
    default: {
      FileSummary files;
      if (is_file_fact(fact.kind)) files.add(fact);
      files.report(result, /*has_messages=*/false);
      if (fact.kind == FactKind::kFileCancelled)
        result.add(ArgumentName::kCancelled, Argument::Kind::kTrue);
    }
  }
  return result;
}

void CallArguments::add_values(const Call& call) {
  const Argument* const first = end();
  for (const Fact& fact : call.facts) {
    if (fact.kind != FactKind::kValue) continue;
    const ValueName value = value_name_of(fact);
    const auto is_reported = [&](const Argument& argument) {
      return argument.name == argument_of(value);
    };
    if (value == ValueName::kCount || std::any_of(first, end(), is_reported)) continue;
    add(argument_of(value), is_real(value) ? Argument::Kind::kReal : Argument::Kind::kNumber,
        value_of(fact));
  }
}

void CallArguments::add_peer(ArgumentName name, const Fact& fact, const WorldRanks& world_ranks) {
  if (fact.peer == kAnySource) return add(name, Argument::Kind::kAny);
  const std::int32_t peer = world_ranks.of(fact.comm, fact.peer);
  if (peer >= 0) add_number(name, static_cast<std::uint64_t>(peer));
}

void CallArguments::add_tag(ArgumentName name, std::int32_t tag) {
  if (tag == kAnyTag) return add(name, Argument::Kind::kAny);
  add(name, Argument::Kind::kNumber, tag);
}

}  // namespace megascope::timeline
