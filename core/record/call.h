#pragma once

#include "core/record/ids.h"

#include <cstdint>
#include <span>

namespace megascope {

/// Kind of a fact. A fact is something that a call did in addition to its entry and return. The
/// kinds are sorted by subject. The comments name the corresponding OTF2 event and the fields of
/// Fact that are set. The numbers are stored in traces. A new kind needs a number that was never
/// used (the next one is 68), a change of kLastFactKind, and a case in events::dispatch()
/// (event_view.h).
enum class FactKind : std::uint8_t {
  kNone = 0,

  // Messages.
  kSend = 1,  ///< MpiSend: blocking send; peer, tag, bytes, comm
  kRecv = 2,  ///< MpiRecv: blocking receive; peer, tag, bytes, comm of the message; request if a
              ///< matched probe reserved the message (kMatched)
  kSendRequest = 3,   ///< MpiIsend: starts a send; request
  kRecvRequest = 4,   ///< MpiIrecvRequest: starts a receive; peer and tag as posted; bytes: size of
                      ///< the receive buffer
  kSendComplete = 5,  ///< MpiIsendComplete: request
  kRecvComplete = 6,  ///< MpiIrecv: request; peer, tag, bytes, comm as received
  kMatched = 16,  ///< matched probe (MPI_Mprobe): peer, tag, bytes, comm; request identifies the
                  ///< message
  kProbed = 64,   ///< a probe found a message without receiving it: peer, tag, bytes, comm

  // Requests.
  kPersistentInit = 19,  ///< MPI_Send_init and similar: request identifies the persistent request;
                         ///< no message yet
  kRequestTest = 8,  ///< MpiRequestTest: tested, not complete. RmaOpTest, with comm and window, for
                     ///< a one-sided operation
  kRequestReady = 65,  ///< MPI_Request_get_status: the request is complete but still active;
                       ///< request. For a receive also comm, peer, tag, bytes; else peer is kNoPeer
  kRequestFreed = 9,   ///< MPI_Request_free on an active request: its completion is not recorded
  kCancelRequested = 66,  ///< MPI_Cancel: request. The completion records whether it was cancelled
  kCancelled = 7,         ///< MpiRequestCancelled: completed as cancelled; no message

  // Collectives and communicators.
  kCollective = 10,  ///< MpiCollectiveBegin/End: peer = root; bytes sent, bytes_received; sequence
                     ///< in comm
  kCollectiveRequest = 11,   ///< NonBlockingCollectiveRequest: as kCollective, with request
  kCollectiveComplete = 12,  ///< NonBlockingCollectiveComplete: request; the other fields as at the
                             ///< start
  kCommCreated = 13,         ///< comm: communicator that the call created
  kCommFreed = 14,           ///< comm: communicator that the call freed

  // One-sided communication: `tag` is the window (window_of), comm its communicator, peer the rank
  // of the target in it. `request` of an operation is its matching id, also if it has no MPI
  // request.
  kPut = 20,             ///< RmaPut: bytes to the target
  kGet = 21,             ///< RmaGet: bytes_received from the target
  kAccumulate = 22,      ///< RmaAtomic, accumulate: bytes
  kGetAccumulate = 23,   ///< RmaAtomic, fetch and accumulate: bytes, bytes_received
  kCompareAndSwap = 24,  ///< RmaAtomic, compare and swap: bytes of both operands, bytes_received
  kRput = 25,            ///< as kPut, with an MPI request; kRmaComplete records its completion
  kRget = 26,            ///< as kGet, with an MPI request
  kRaccumulate = 27,     ///< as kAccumulate, with an MPI request
  kRgetAccumulate = 28,  ///< as kGetAccumulate, with an MPI request
  kRmaComplete = 29,  ///< RmaOpCompleteNonBlocking: request. For the completion of other operations
                      ///< see rma_completion.h
  kWinCreated = 30,  ///< RmaWinCreate: bytes of local window memory; sequence among the collectives
                     ///< on comm
  kWinFreed = 31,    ///< RmaWinDestroy; sequence as kFence
  kFence = 32,  ///< RmaCollectiveBegin/End: sequence among the fences and the free of the window;
                ///< bytes: assertions, as bits of namespace rma
  kGroupSync = 33,  ///< RmaGroupSync: sequence = GroupId; bytes: rma::kPost, kStart, kComplete or
                    ///< kWait, and assertions
  kLock = 34,  ///< RmaRequestLock, RmaAcquireLock: peer, or kNoPeer for all; bytes: rma::kExclusive
               ///< for an exclusive lock, and assertions
  kUnlock = 35,   ///< RmaReleaseLock: peer or kNoPeer
  kFlush = 36,    ///< peer, or kNoPeer for all; bytes: 1 for local completion only
  kWinSync = 37,  ///< RmaSync: memory synchronisation
  kWindow = 38,   ///< any other call on the window; bytes: size of memory that it attached

  // Files. Each fact names a file; core/record/file_fact.h defines the fields.
  kFileOpened = 40,   ///< IoCreateHandle; sequence among the collectives on comm
  kFileClosed = 41,   ///< IoDestroyHandle
  kFileDeleted = 42,  ///< IoDeleteFile; by name
  kFileRead = 43,     ///< IoOperationBegin, Complete: blocking; bytes requested and transferred,
                      ///< explicit offset
  kFileWrite = 44,    ///< as kFileRead
  kFileReadRequest = 45,   ///< IoOperationBegin, Issued: nonblocking or split collective; request;
                           ///< bytes requested
  kFileWriteRequest = 46,  ///< as kFileReadRequest
  kFileReadComplete = 47,  ///< IoOperationComplete: request; bytes transferred; the other fields as
                           ///< at the start
  kFileWriteComplete = 48,  ///< as kFileReadComplete
  kFileTest = 49,           ///< IoOperationTest: request; tested, not complete
  kFileCancelled = 50,      ///< IoOperationCancelled: request
  kFileSync = 51,           ///< IoOperationBegin, Complete: flush
  kFileSeek = 52,           ///< IoSeek
  kFileSize = 53,           ///< bytes: file size that the call set, preallocated or returned
  kFileView = 54,        ///< offset: start of the view in bytes; bytes: size of the elementary type
  kFileUsed = 55,        ///< any other call on the file
  kFileCollective = 56,  ///< request: number of the call among the collective calls on a file;
                         ///< another fact of the call names the file. For an MPI_File_open that
                         ///< failed: comm, and sequence among the collectives on comm

  // The call itself.
  kValue = 63,       ///< an argument or result of the call: name (tag) and value (bytes);
                     ///< core/record/value_fact.h
  kLocalBytes = 62,  ///< bytes that a local call packed, unpacked, reduced, allocated or measured;
                     ///< they are not sent
  kError = 15,       ///< bytes: MPI error code that the call returned
  kCallSite = 61,    ///< request: 1 + number of the CallSiteDefinition of the call
  kLeft = 59,  ///< the call did not return: an exception, longjmp or the end of the thread left it.
               ///< Its end is unknown; the record ends with the last call inside of it

  // Encoding only: readers never get these kinds.
  kSendrecv = 18,  ///< a kSend and a kRecv of one call
  kDuration = 17,  ///< duration of the call in ticks, if it does not fit
  kRepeated = 60,  ///< the record stands for `request` consecutive calls without result. The calls
                   ///< took `bytes` ticks together. The duration of the record is the time from the
                   ///< first entry to the last return
  kUncertain = 67,  ///< the call ended a series of unsuccessful calls whose entries were not timed.
                    ///< Its entry lies within `bytes` ticks after the entry in the record
};
/// The kind with the highest number. Decoders refuse kinds with higher numbers.
inline constexpr FactKind kLastFactKind = FactKind::kUncertain;

struct Fact {
  FactKind kind = FactKind::kNone;
  CommId comm = kNoComm;
  RequestId request = kNoRequest;
  std::uint32_t sequence = 0;  ///< collectives: number of collectives that this process started on
                               ///< comm before
  std::int32_t
      peer = kNoPeer;  ///< rank in comm (in the remote group for an intercommunicator), or the root
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_received = 0;  ///< collectives and one-sided operations only

  bool operator==(const Fact&) const = default;
};

/// The window of a one-sided fact. It is stored in `tag`.
inline constexpr WinId window_of(const Fact& fact) { return static_cast<WinId>(fact.tag); }
inline constexpr std::int32_t window_field(WinId window) {
  return static_cast<std::int32_t>(window);
}

/// Returns whether the kind is a one-sided operation, kPut to kRgetAccumulate.
inline constexpr bool is_rma_operation(FactKind kind) {
  return kind >= FactKind::kPut && kind <= FactKind::kRgetAccumulate;
}
/// Returns whether the kind is a one-sided operation with an MPI request.
inline constexpr bool has_rma_request(FactKind kind) {
  return kind >= FactKind::kRput && kind <= FactKind::kRgetAccumulate;
}
/// Returns whether the kind belongs to one-sided communication. All but kRmaComplete name a window.
inline constexpr bool is_rma(FactKind kind) {
  return kind >= FactKind::kPut && kind <= FactKind::kWindow;
}
inline constexpr bool names_window(FactKind kind) {
  return is_rma(kind) && kind != FactKind::kRmaComplete;
}

/// Values of Fact::bytes of a synchronisation. The low bits are its assertions (kNoCheck is
/// MPI_MODE_NOCHECK). The bits from 0x100 on distinguish the functions of kGroupSync and the types
/// of kLock. Stored in traces.
namespace rma {
inline constexpr std::uint64_t kNoCheck = 1;
inline constexpr std::uint64_t kNoStore = 2;
inline constexpr std::uint64_t kNoPut = 4;
inline constexpr std::uint64_t kNoPrecede = 8;
inline constexpr std::uint64_t kNoSucceed = 16;

inline constexpr std::uint64_t kExclusive = 0x100;  ///< kLock: exclusive lock

// kGroupSync:
inline constexpr std::uint64_t kPost = 0x100;
inline constexpr std::uint64_t kStart = 0x200;
inline constexpr std::uint64_t kComplete = 0x300;
inline constexpr std::uint64_t kWait = 0x400;  ///< also a successful MPI_Win_test
inline constexpr std::uint64_t kGroupSyncMask = 0xF00;
}  // namespace rma

/// One MPI call or annotated region of the application, from entry to return. Times are in the unit
/// and on the clock of the provider (RecordSource: ns since the start of the run on the common
/// clock).
struct Call {
  std::uint64_t enter_ns = 0;
  std::uint64_t leave_ns = 0;
  RegionId region = kNoRegion;
  CommId comm = kNoComm;    ///< communicator argument, if there is one
  std::uint8_t depth = 0;   ///< > 0: made inside a callback (attribute, operator, error handler) of
                            ///< an enclosing call
  std::uint32_t count = 1;  ///< number of consecutive calls that this one stands for: tests and
                            ///< probes without result
  std::uint64_t inside_ns = 0;  ///< time spent in these calls; set only if count > 1. time_inside()
                                ///< handles both cases
  std::uint64_t uncertain_ns = 0;  ///< the call was entered between enter_ns and as much later: it
                                   ///< is a test or probe that ended a long series of unsuccessful
                                   ///< calls. latest_entry_ns() handles all cases
  bool is_pending = false;  ///< the call had not returned at the end of the trace; leave_ns is the
                            ///< end of the trace
  std::span<const Fact> facts;  ///< in order; valid until the next call of CallStream::next()
  std::span<const Fact> posted =
      {};  ///< pending call: its arguments in the form of facts. They describe operations that have
           ///< not completed. Valid as long as `facts`
};

/// Returns the time spent in the call, or in the calls that it stands for.
constexpr std::uint64_t time_inside(const Call& call) {
  return call.count > 1 ? call.inside_ns : call.leave_ns - call.enter_ns;
}

/// Returns the latest time at which the call can have been entered. What counts waiting in the call
/// counts from then on.
constexpr std::uint64_t latest_entry_ns(const Call& call) {
  const std::uint64_t duration_ns = call.leave_ns - call.enter_ns;
  return call.enter_ns + (call.uncertain_ns < duration_ns ? call.uncertain_ns : duration_ns);
}

/// Calls of one location in order of entry: an enclosing call comes before the calls inside of it.
/// One reader thread.
class CallStream {
 public:
  virtual ~CallStream() = default;
  /// Reads the next call. Returns false at the end. Unreadable records are skipped and counted
  /// (LossCause::kDamaged).
  virtual bool next(Call& call) = 0;
};

}  // namespace megascope
