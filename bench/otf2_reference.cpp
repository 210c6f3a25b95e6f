#include "bench/otf2_reference.h"

#include <otf2/otf2.h>

namespace megascope::bench {
namespace {

OTF2_FlushType always_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
constexpr OTF2_FlushCallbacks kFlush = {.otf2_pre_flush = always_flush, .otf2_post_flush = nullptr};

std::uint64_t write_fact(OTF2_EvtWriter* to, const Call& call, const Fact& fact) {
  const auto peer = static_cast<std::uint32_t>(fact.peer);
  const auto tag = static_cast<std::uint32_t>(fact.tag);
  const std::uint64_t time = call.leave_ns;
  switch (fact.kind) {
    case FactKind::kSend:
      OTF2_EvtWriter_MpiSend(to, nullptr, call.enter_ns, peer, 0, tag, fact.bytes);
      return 1;
    case FactKind::kSendRequest:
      OTF2_EvtWriter_MpiIsend(to, nullptr, call.enter_ns, peer, 0, tag, fact.bytes, fact.request);
      return 1;
    case FactKind::kRecvRequest:
      OTF2_EvtWriter_MpiIrecvRequest(to, nullptr, call.enter_ns, fact.request);
      return 1;
    case FactKind::kRecv:
      OTF2_EvtWriter_MpiRecv(to, nullptr, time, peer, 0, tag, fact.bytes);
      return 1;
    case FactKind::kRecvComplete:
      OTF2_EvtWriter_MpiIrecv(to, nullptr, time, peer, 0, tag, fact.bytes, fact.request);
      return 1;
    case FactKind::kSendComplete:
      OTF2_EvtWriter_MpiIsendComplete(to, nullptr, time, fact.request);
      return 1;
    case FactKind::kCollective:
      OTF2_EvtWriter_MpiCollectiveBegin(to, nullptr, call.enter_ns);
      OTF2_EvtWriter_MpiCollectiveEnd(to, nullptr, time, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, peer,
                                      fact.bytes, fact.bytes_received);
      return 2;
    default:
      return 0;
  }
}

std::uint64_t write_rank(OTF2_Archive* archive, const GeneratedRun& run, std::int32_t rank) {
  OTF2_EvtWriter* to = OTF2_Archive_GetEvtWriter(archive, static_cast<OTF2_LocationRef>(rank));
  std::uint64_t records = 0;
  const auto calls = run.calls(rank, 0);
  for (Call call; calls->next(call);) {
    OTF2_EvtWriter_Enter(to, nullptr, call.enter_ns, call.region);
    records += 2;
    for (const Fact& fact : call.facts) records += write_fact(to, call, fact);
    OTF2_EvtWriter_Leave(to, nullptr, call.leave_ns, call.region);
  }
  OTF2_Archive_CloseEvtWriter(archive, to);
  return records;
}

}  // namespace

std::uint64_t write_with_libotf2(const GeneratedRun& run, const std::string& directory) {
  OTF2_Archive* archive = OTF2_Archive_Open(
      directory.c_str(), "reference", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
      OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive == nullptr) return 0;
  OTF2_Archive_SetFlushCallbacks(archive, &kFlush, nullptr);
  OTF2_Archive_SetSerialCollectiveCallbacks(archive);
  OTF2_Archive_OpenEvtFiles(archive);
  std::uint64_t records = 0;
  for (const std::int32_t rank : run.world_ranks()) records += write_rank(archive, run, rank);
  OTF2_Archive_CloseEvtFiles(archive);
  OTF2_Archive_Close(archive);
  return records;
}

std::uint64_t generate_only(const GeneratedRun& run) {
  std::uint64_t count = 0;
  for (const std::int32_t rank : run.world_ranks()) {
    const auto calls = run.calls(rank, 0);
    for (Call call; calls->next(call);) ++count;
  }
  return count;
}

}  // namespace megascope::bench
