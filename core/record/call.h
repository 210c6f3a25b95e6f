#pragma once

#include "core/record/ids.h"

#include <cstdint>
#include <span>

namespace megascope {

/// What a call did beyond being entered and left. The comment names the OTF2 event. Append only:
/// stored in traces.
enum class FactKind : std::uint8_t {
  kNone = 0,
  kSend = 1,  ///< MpiSend: blocking send; peer, tag, bytes, comm
  kRecv = 2,  ///< MpiRecv: blocking receive as matched; request if it was matched by a probe before
              ///< (kMatched)
  kSendRequest = 3,   ///< MpiIsend: starts a send; request
  kRecvRequest = 4,   ///< MpiIrecvRequest: starts a receive; peer, tag as posted; bytes = room
  kSendComplete = 5,  ///< MpiIsendComplete: request
  kRecvComplete = 6,  ///< MpiIrecv: request; peer, tag, bytes, comm as received
  kCancelled = 7,     ///< MpiRequestCancelled: completed as cancelled; no message
  kRequestTest = 8,  ///< MpiRequestTest: tested, not complete; RmaOpTest with comm and window of an
                     ///< operation
  kRequestFreed = 9,         ///< MPI_Request_free on an active request: no completion will be seen
  kCollective = 10,          ///< MpiCollectiveBegin/End: peer = root, bytes = sent, bytes_received;
                             ///< sequence in comm
  kCollectiveRequest = 11,   ///< NonBlockingCollectiveRequest: the same with request
  kCollectiveComplete = 12,  ///< NonBlockingCollectiveComplete: request; the other fields repeat
                             ///< the start
  kCommCreated = 13,         ///< comm: the communicator that the call made
  kCommFreed = 14,           ///< comm: the communicator that the call freed
  kError = 15,               ///< bytes: the MPI error code that the call returned
  kMatched = 16,   ///< a matched probe (MPI_Mprobe): peer, tag, bytes, comm; request names the
                   ///< message
  kDuration = 17,  ///< encoding only: the call's duration in ticks does not fit
  kSendrecv = 18,  ///< encoding only: a kSend and a kRecv of one call
  kPersistentInit = 19,  ///< MPI_Send_init …: request names the persistent request; no message yet

  // Files. All name one; core/record/file_fact.h says how what they tell lies in a Fact.
  kFileOpened = 40,   ///< IoCreateHandle; sequence among the collectives of comm
  kFileClosed = 41,   ///< IoDestroyHandle
  kFileDeleted = 42,  ///< IoDeleteFile: by name
  kFileRead = 43,     ///< IoOperationBegin, Complete: blocking; bytes requested and transferred,
                      ///< explicit offset
  kFileWrite = 44,    ///< the same
  kFileReadRequest = 45,    ///< IoOperationBegin, Issued: nonblocking or split collective; request;
                            ///< bytes requested
  kFileWriteRequest = 46,   ///< the same
  kFileReadComplete = 47,   ///< IoOperationComplete: request; bytes transferred; the other fields
                            ///< repeat the start
  kFileWriteComplete = 48,  ///< the same
  kFileTest = 49,           ///< IoOperationTest: request; tested, not complete
  kFileCancelled = 50,      ///< IoOperationCancelled: request
  kFileSync = 51,           ///< IoOperationBegin, Complete: flush
  kFileSeek = 52,           ///< IoSeek
  kFileSize = 53,           ///< bytes: the size that the call set, made room for, or was told
  kFileView = 54,  ///< offset: where the view begins, in bytes; bytes: size of the elementary type
  kFileUsed = 55,  ///< any other call on the file
  kFileCollective = 56,  ///< request: the call's number among the collective ones on the file that
                         ///< its other facts name. Of an MPI_File_open that failed: comm, and
                         ///< sequence in it
  // One-sided: `tag` is the window (window_of), comm its communicator, peer the target's rank
  // there. An operation's `request` is its matching id, also without a request.
  kPut = 20,             ///< RmaPut: bytes to the target
  kGet = 21,             ///< RmaGet: bytes_received from the target
  kAccumulate = 22,      ///< RmaAtomic, accumulate: bytes
  kGetAccumulate = 23,   ///< RmaAtomic, fetch and accumulate: bytes, bytes_received
  kCompareAndSwap = 24,  ///< RmaAtomic, compare and swap: bytes of both operands, bytes_received
  kRput = 25,            ///< the same with a request, of which kRmaComplete tells the end
  kRget = 26,
  kRaccumulate = 27,
  kRgetAccumulate = 28,
  kRmaComplete = 29,  ///< RmaOpCompleteNonBlocking: request. What other operations completed:
                      ///< rma_completion.h
  kWinCreated = 30,  ///< RmaWinCreate: bytes of memory here; sequence among the collectives of comm
  kWinFreed = 31,    ///< RmaWinDestroy; sequence as of kFence
  kFence = 32,  ///< RmaCollectiveBegin/End: sequence among the window's fences and its end; bytes:
                ///< rma::kNoCheck …
  kGroupSync = 33,  ///< RmaGroupSync: sequence = GroupId; bytes: rma::kPost …
  kLock = 34,  ///< RmaRequestLock, RmaAcquireLock: peer, kNoPeer for all; bytes: rma::kExclusive …
  kUnlock = 35,      ///< RmaReleaseLock: peer or kNoPeer
  kFlush = 36,       ///< peer or kNoPeer; bytes: 1 when only local completion was asked for
  kWinSync = 37,     ///< RmaSync: memory
  kWindow = 38,      ///< a call about the window that does none of this; bytes attached
  kRepeated = 60,    ///< encoding only: the record stands for `request` calls in a row that found
                     ///< nothing, in which `bytes` ticks were spent; the duration is from the first
                     ///< entry to the last return
  kLocalBytes = 62,  ///< bytes that a local call packed, unpacked, reduced, allocated or measured;
                     ///< they went to nobody
  kCallSite = 61,    ///< request: 1 + the number of the CallSiteDefinition: where the call was made
  kValue = 63,       ///< what the call was given or gave: which (tag) and its value (bytes);
                     ///< core/record/value_fact.h
  kProbed = 64,      ///< a probe found a message and left it where it is: peer, tag, bytes, comm
  kRequestReady = 65,  ///< MPI_Request_get_status: complete, and still to be completed; request. Of
                       ///< a receive that got a message also comm, peer, tag, bytes; of others peer
                       ///< is kNoPeer
  kCancelRequested = 66,  ///< MPI_Cancel: request. Whether it was cancelled its completion tells
  kLeft = 59,  ///< the call did not return: an exception, a jump or the thread's end led out of it.
               ///< When is not known: it lasts until the last call inside of it
};

struct Fact {
  FactKind kind = FactKind::kNone;
  CommId comm = kNoComm;
  RequestId request = kNoRequest;
  std::uint32_t
      sequence = 0;  ///< collectives: how many collectives this process had started on comm before
  std::int32_t
      peer = kNoPeer;  ///< rank in comm (remote group for an intercommunicator), or the root
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_received = 0;  ///< collectives and one-sided operations only

  bool operator==(const Fact&) const = default;
};

/// The window of a one-sided fact; it lies where messages have their tag.
inline constexpr WinId window_of(const Fact& fact) { return static_cast<WinId>(fact.tag); }
inline constexpr std::int32_t window_field(WinId window) {
  return static_cast<std::int32_t>(window);
}

/// Operations, from kPut to kRgetAccumulate.
inline constexpr bool is_rma_operation(FactKind kind) {
  return kind >= FactKind::kPut && kind <= FactKind::kRgetAccumulate;
}
/// Those with a request of their own.
inline constexpr bool has_rma_request(FactKind kind) {
  return kind >= FactKind::kRput && kind <= FactKind::kRgetAccumulate;
}
/// All of one-sided communication; but for kRmaComplete they name a window.
inline constexpr bool is_rma(FactKind kind) {
  return kind >= FactKind::kPut && kind <= FactKind::kWindow;
}
inline constexpr bool names_window(FactKind kind) {
  return is_rma(kind) && kind != FactKind::kRmaComplete;
}

/// What a program promises when it synchronises (MPI_MODE_NOCHECK …), as bits. Above them, in the
/// same word, what the synchronisation is where its FactKind does not say it. Stored in traces.
namespace rma {
inline constexpr std::uint64_t kNoCheck = 1;
inline constexpr std::uint64_t kNoStore = 2;
inline constexpr std::uint64_t kNoPut = 4;
inline constexpr std::uint64_t kNoPrecede = 8;
inline constexpr std::uint64_t kNoSucceed = 16;

inline constexpr std::uint64_t kExclusive = 0x100;  ///< of kLock

// Of kGroupSync.
inline constexpr std::uint64_t kPost = 0x100;
inline constexpr std::uint64_t kStart = 0x200;
inline constexpr std::uint64_t kComplete = 0x300;
inline constexpr std::uint64_t kWait = 0x400;  ///< also a successful MPI_Win_test
inline constexpr std::uint64_t kGroupSyncMask = 0xF00;
}  // namespace rma

/// One MPI call of the application, from entry to return. Times are in the unit and on the clock of
/// whoever hands it out (RecordSource: ns since the run's start on the common clock).
struct Call {
  std::uint64_t enter_ns = 0;
  std::uint64_t leave_ns = 0;
  RegionId region = kNoRegion;
  CommId comm = kNoComm;   ///< the communicator argument, where there is one
  std::uint8_t depth = 0;  ///< > 0: made inside a callback (attribute, operator, error handler) of
                           ///< an enclosing call
  std::uint32_t
      count = 1;  ///< calls in a row that this one stands for: tests and probes that found nothing
  std::uint64_t inside_ns = 0;  ///< time spent in them, where count > 1; else see time_inside()
  bool is_pending = false;  ///< had been entered but not left when the trace ended; leave_ns is the
                            ///< trace's end
  std::span<const Fact> facts;        ///< in order; valid until the stream is advanced
  std::span<const Fact> posted = {};  ///< of a pending call: what it was called with, nothing of
                                      ///< which has happened; valid like facts
};

/// Time spent in the call, or in the calls that it stands for.
constexpr std::uint64_t time_inside(const Call& call) {
  return call.count > 1 ? call.inside_ns : call.leave_ns - call.enter_ns;
}

/// Calls of one location, in order of entry: an enclosing call comes before those made inside of
/// it. One reader thread.
class CallStream {
 public:
  virtual ~CallStream() = default;
  /// False at the end. What could not be read has been skipped and counted (LossCause::kDamaged).
  virtual bool next(Call& call) = 0;
};

}  // namespace megascope
