#include "tests/mpi/rma_words.h"

namespace megascope::mpitest {
namespace {

/// "put" …; nullptr for what is no operation.
const char* operation_text(FactKind kind) {
  switch (kind) {
    case FactKind::kPut:
      return "put";
    case FactKind::kGet:
      return "get";
    case FactKind::kAccumulate:
      return "accumulate";
    case FactKind::kGetAccumulate:
      return "get-accumulate";
    case FactKind::kCompareAndSwap:
      return "compare-and-swap";
    case FactKind::kRput:
      return "rput";
    case FactKind::kRget:
      return "rget";
    case FactKind::kRaccumulate:
      return "raccumulate";
    case FactKind::kRgetAccumulate:
      return "rget-accumulate";
    default:
      return nullptr;
  }
}

std::string assertion_text(std::uint64_t bits) {
  std::string words;
  if ((bits & rma::kNoCheck) != 0) words += " nocheck";
  if ((bits & rma::kNoStore) != 0) words += " nostore";
  if ((bits & rma::kNoPut) != 0) words += " noput";
  if ((bits & rma::kNoPrecede) != 0) words += " noprecede";
  if ((bits & rma::kNoSucceed) != 0) words += " nosucceed";
  return words;
}

std::string target_text(std::int32_t target) {
  return target == kNoPeer ? " all" : " " + std::to_string(target);
}

std::string members_text(GroupId id, const ProcessDefinitions& process) {
  if (id >= process.groups.size()) return " unknown group";
  std::string words = " with";
  for (const std::int32_t rank : expand(process.groups[id].members))
    words += " " + std::to_string(rank);
  return words;
}

std::string group_sync_text(const Fact& fact, const ProcessDefinitions& process,
                            const std::string& window) {
  const std::uint64_t what = fact.bytes & rma::kGroupSyncMask;
  const char* name = what == rma::kPost    ? "post"
                     : what == rma::kStart ? "start"
                     : what == rma::kWait  ? "wait"
                                           : "complete";
  return name + window + members_text(fact.sequence, process) + assertion_text(fact.bytes);
}

}  // namespace

std::string rma_text(const Fact& fact, const ProcessDefinitions& process,
                     const std::string& request, const std::string& window) {
  const std::string bytes = std::to_string(fact.bytes);
  if (const char* name = operation_text(fact.kind)) {
    return name + request + window + " target " + std::to_string(fact.peer) + " sent " + bytes +
           " received " + std::to_string(fact.bytes_received);
  }
  switch (fact.kind) {
    case FactKind::kWinCreated:
      return "made" + window + " bytes " + bytes;
    case FactKind::kWinFreed:
      return "ended" + window;
    case FactKind::kFence:
      return "fence" + window + " #" + std::to_string(fact.sequence) + assertion_text(fact.bytes);
    case FactKind::kGroupSync:
      return group_sync_text(fact, process, window);
    case FactKind::kLock:
      return "lock" + window + target_text(fact.peer) +
             ((fact.bytes & rma::kExclusive) != 0 ? " exclusive" : "") + assertion_text(fact.bytes);
    case FactKind::kUnlock:
      return "unlock" + window + target_text(fact.peer);
    case FactKind::kFlush:
      return (fact.bytes != 0 ? "flush local" : "flush") + window + target_text(fact.peer);
    case FactKind::kWinSync:
      return "sync" + window;
    default:
      return "about" + window + (fact.bytes != 0 ? " bytes " + bytes : "");
  }
}

}  // namespace megascope::mpitest
