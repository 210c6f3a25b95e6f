#pragma once

#include "core/record/call.h"
#include "core/record/file_fact.h"
#include "core/record/value_fact.h"

#include <cstdint>

/// Views of facts, one type for each event that readers distinguish. The meaning of a Fact's fields
/// depends on its kind. Therefore only core/record and the code that makes facts access the fields;
/// readers use the views. events::visit() (event_view.h) makes the view of a fact.
///
/// A view has the size of a pointer. It refers to the fact and is valid as long as the fact. An
/// accessor reads one field and costs as much as reading it in the Fact. Any thread.
namespace megascope::events {

/// Returns `result`, for a kind that no view of this type has. It is not constexpr, so that a
/// constant expression that reaches it does not compile: tests/core/event_view_test.cpp evaluates
/// the accessors for all kinds of their views. A new kind that an accessor does not list is thus an
/// error.
template <class Result>
Result for_no_kind(Result result) {
  return result;
}

/// Returns the number of a kind. Enumerators below that have this value are converted from a kind
/// by a cast.
constexpr std::uint8_t value(FactKind kind) { return static_cast<std::uint8_t>(kind); }

/// Base class of all views.
class Event {
 public:
  constexpr explicit Event(const Fact& fact) : fact_(&fact) {}
  /// Returns the fact itself, to copy it or to pass it on. Its fields must not be read.
  constexpr const Fact& fact() const { return *fact_; }

 protected:
  const Fact* fact_;
};

/// A message, or the description of one. peer: rank in comm (in the remote group for an
/// intercommunicator); negative: none (kNoPeer, MPI_PROC_NULL) or kAnySource.
class Message : public Event {
 public:
  using Event::Event;
  constexpr CommId comm() const { return fact_->comm; }
  constexpr std::int32_t peer() const { return fact_->peer; }
  constexpr std::int32_t tag() const { return fact_->tag; }
  constexpr std::uint64_t bytes() const { return fact_->bytes; }
  constexpr RequestId request() const { return fact_->request; }
};

/// A send starts.
class Send : public Message {
 public:
  using Message::Message;
  constexpr bool is_blocking() const { return fact_->kind == FactKind::kSend; }
};

/// A nonblocking receive is posted. peer and tag: as posted, possibly kAnySource and kAnyTag.
/// bytes: size of the receive buffer.
class PostedReceive : public Message {
 public:
  using Message::Message;
};

/// A receive has completed; the fields are those of the message received. Among the arguments of a
/// pending call, it is a receive that has not completed. request of a blocking receive: kNoRequest,
/// or the MatchedProbe that reserved the message. peer is negative if there is no message.
class Receive : public Message {
 public:
  using Message::Message;
  constexpr bool is_blocking() const { return fact_->kind == FactKind::kRecv; }
};

/// A matched probe (MPI_Mprobe) reserved a message. request: identifies the message.
class MatchedProbe : public Message {
 public:
  using Message::Message;
};

/// A probe found a message, or MPI_Request_get_status found that a request is complete. A later
/// call receives the message or completes the request, and has an event of its own for that.
class FoundMessage : public Message {
 public:
  using Message::Message;
  constexpr bool is_ready_request() const { return fact_->kind == FactKind::kRequestReady; }
  /// Returns whether the event describes a message. It does not if the completed request is not a
  /// receive.
  constexpr bool has_message() const { return fact_->peer != kNoPeer; }
};

/// A request ends, and the event describes neither a message, nor a collective, nor a file
/// transfer.
class Completion : public Event {
 public:
  enum class Way : std::uint8_t {
    kSent = value(FactKind::kSendComplete),     ///< a send completed
    kOneSided = value(FactKind::kRmaComplete),  ///< a one-sided operation completed
    kCancelled = value(FactKind::kCancelled),   ///< the operation completed as cancelled
    kFreed = value(FactKind::kRequestFreed),    ///< MPI_Request_free on an active request: the
                                                ///< completion is not recorded
  };
  using Event::Event;
  constexpr RequestId request() const { return fact_->request; }
  constexpr Way way() const { return static_cast<Way>(fact_->kind); }
};

/// Use of a request that does not complete it.
class RequestUse : public Event {
 public:
  enum class Use : std::uint8_t {
    kTested = value(FactKind::kRequestTest),  ///< tested, not complete. In a pending call: the call
                                              ///< waits for requests
    kCancelRequested = value(FactKind::kCancelRequested),  ///< MPI_Cancel
    kPersistentInit = value(FactKind::kPersistentInit),    ///< MPI_Send_init and similar
  };
  using Event::Event;
  constexpr RequestId request() const { return fact_->request; }
  constexpr Use use() const { return static_cast<Use>(fact_->kind); }
  /// Returns whether the request is a one-sided operation on window(). Use::kTested only.
  constexpr bool is_one_sided() const { return fact_->comm != kNoComm; }
  constexpr WinId window() const { return window_of(*fact_); }
  /// Returns the number of requests passed to the call. Use::kTested in a pending call only.
  constexpr std::uint64_t request_count() const { return fact_->bytes; }
};

/// A collective operation. root: rank in comm; kSelfRoot, kProcNullRoot or kNoPeer. sequence:
/// number of collectives that this process started on comm before.
class CollectiveOperation : public Event {
 public:
  using Event::Event;
  constexpr CommId comm() const { return fact_->comm; }
  constexpr std::int32_t root() const { return fact_->peer; }
  constexpr std::uint32_t sequence() const { return fact_->sequence; }
  constexpr std::uint64_t bytes_sent() const { return fact_->bytes; }
  constexpr std::uint64_t bytes_received() const { return fact_->bytes_received; }
  constexpr RequestId request() const { return fact_->request; }
};

/// A blocking collective, or the start of a nonblocking one.
class Collective : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
  constexpr bool is_blocking() const { return fact_->kind == FactKind::kCollective; }
};

/// A nonblocking collective completes. The fields are those of its start.
class CollectiveCompletion : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
};

/// The call created or freed a communicator.
class CommChange : public Event {
 public:
  using Event::Event;
  constexpr CommId comm() const { return fact_->comm; }
  constexpr bool is_created() const { return fact_->kind == FactKind::kCommCreated; }
};

/// An event on a window. comm: communicator of the window. target: rank in comm; kNoPeer if the
/// call has no target or concerns all ranks.
class OneSided : public Event {
 public:
  using Event::Event;
  constexpr WinId window() const { return window_of(*fact_); }
  constexpr CommId comm() const { return fact_->comm; }
  constexpr std::int32_t target() const { return fact_->peer; }
};

/// A one-sided operation starts. rma_completion.h determines where it completes.
class RmaOperation : public OneSided {
 public:
  enum class Operation : std::uint8_t {
    kPut,
    kGet,
    kAccumulate,
    kGetAccumulate,
    kCompareAndSwap,
  };
  using OneSided::OneSided;
  constexpr Operation operation() const {
    switch (fact_->kind) {
      case FactKind::kPut:
      case FactKind::kRput:
        return Operation::kPut;
      case FactKind::kGet:
      case FactKind::kRget:
        return Operation::kGet;
      case FactKind::kAccumulate:
      case FactKind::kRaccumulate:
        return Operation::kAccumulate;
      case FactKind::kGetAccumulate:
      case FactKind::kRgetAccumulate:
        return Operation::kGetAccumulate;
      case FactKind::kCompareAndSwap:
        return Operation::kCompareAndSwap;
      default:
        return for_no_kind(Operation::kCompareAndSwap);
    }
  }
  /// Returns the operation's number, also if it has no MPI request.
  constexpr RequestId request() const { return fact_->request; }
  /// Returns whether it has an MPI request, whose Completion is recorded.
  constexpr bool has_mpi_request() const { return has_rma_request(fact_->kind); }
  constexpr std::uint64_t bytes_to_target() const { return fact_->bytes; }
  constexpr std::uint64_t bytes_from_target() const { return fact_->bytes_received; }
};

/// A synchronisation on a window. Only kLock, kUnlock and kFlush have a target.
class RmaSync : public OneSided {
 public:
  enum class Sync : std::uint8_t {
    kFence = value(FactKind::kFence),
    kGroup = value(FactKind::kGroupSync),  ///< MPI_Win_post, start, complete, wait
    kLock = value(FactKind::kLock),
    kUnlock = value(FactKind::kUnlock),
    kFlush = value(FactKind::kFlush),
    kMemory = value(FactKind::kWinSync),  ///< MPI_Win_sync
  };
  using OneSided::OneSided;
  constexpr Sync sync() const { return static_cast<Sync>(fact_->kind); }
  /// Returns whether the call has an assertion, one of rma::kNoCheck to rma::kNoSucceed. kFence,
  /// kGroup and kLock only.
  constexpr bool has(std::uint64_t assertion) const { return (fact_->bytes & assertion) != 0; }
  /// Returns the number of the call among the fences and MPI_Win_free of the window. kFence only.
  constexpr std::uint32_t sequence() const { return fact_->sequence; }
  constexpr GroupId group() const { return fact_->sequence; }  ///< kGroup
  /// Returns rma::kPost, kStart, kComplete or kWait. kGroup only.
  constexpr std::uint64_t group_function() const { return fact_->bytes & rma::kGroupSyncMask; }
  constexpr bool is_exclusive() const { return has(rma::kExclusive); }  ///< kLock
  constexpr bool is_local_only() const { return fact_->bytes != 0; }    ///< kFlush
};

/// A window is created, freed, or used by another call.
class WindowUse : public OneSided {
 public:
  enum class Use : std::uint8_t {
    kCreated = value(FactKind::kWinCreated),
    kFreed = value(FactKind::kWinFreed),
    kOther = value(FactKind::kWindow)
  };
  using OneSided::OneSided;
  constexpr Use use() const { return static_cast<Use>(fact_->kind); }
  /// Returns the bytes of local memory that the window is created with, or that the call attached.
  constexpr std::uint64_t bytes() const { return fact_->bytes; }
  /// kCreated: number of the call among the collectives on comm. kFreed: number of the call among
  /// the fences and MPI_Win_free of the window.
  constexpr std::uint32_t sequence() const { return fact_->sequence; }
};

/// An event on a file. comm: communicator that opened it.
class OnFile : public Event {
 public:
  using Event::Event;
  constexpr FileId file() const { return file_of(*fact_); }
  constexpr CommId comm() const { return fact_->comm; }
  /// Returns the request of a nonblocking transfer, or the number that set_number() gave.
  constexpr RequestId request() const { return fact_->request; }
};

/// A blocking read or write, or one stage of a nonblocking one.
class FileTransfer : public OnFile {
 public:
  enum class Stage : std::uint8_t {
    kBlocking,   ///< the whole transfer
    kStarted,    ///< nonblocking, or begin of a split collective; bytes requested
    kCompleted,  ///< bytes transferred; the other fields as at the start
    kTested,     ///< tested, not complete; file and request only
    kCancelled,  ///< file and request only
  };
  using OnFile::OnFile;
  constexpr Stage stage() const {
    switch (fact_->kind) {
      case FactKind::kFileRead:
      case FactKind::kFileWrite:
        return Stage::kBlocking;
      case FactKind::kFileReadRequest:
      case FactKind::kFileWriteRequest:
        return Stage::kStarted;
      case FactKind::kFileReadComplete:
      case FactKind::kFileWriteComplete:
        return Stage::kCompleted;
      case FactKind::kFileTest:
        return Stage::kTested;
      case FactKind::kFileCancelled:
        return Stage::kCancelled;
      default:
        return for_no_kind(Stage::kCancelled);
    }
  }
  constexpr bool is_write() const { return is_file_write(fact_->kind); }
  /// Returns whether the stage is kBlocking or kStarted.
  constexpr bool is_start() const { return starts_transfer(fact_->kind); }
  /// Returns whether the stage is kBlocking or kCompleted, so that transferred() is known.
  constexpr bool has_ended() const { return ends_transfer(fact_->kind); }
  constexpr FileAccess access() const { return access_of(*fact_); }
  constexpr std::uint64_t transferred() const { return megascope::transferred(*fact_); }
};

/// A call on a file that is not a transfer.
class FileUse : public OnFile {
 public:
  enum class Use : std::uint8_t {
    kOpened = value(FactKind::kFileOpened),  ///< sequence among the collectives on comm
    kClosed = value(FactKind::kFileClosed),
    kDeleted = value(FactKind::kFileDeleted),
    kSync = value(FactKind::kFileSync),
    kSeek = value(FactKind::kFileSeek),
    kSize = value(FactKind::kFileSize),
    kView = value(FactKind::kFileView),
    kOther = value(FactKind::kFileUsed),
  };
  using OnFile::OnFile;
  constexpr Use use() const { return static_cast<Use>(fact_->kind); }
  constexpr std::uint32_t sequence() const { return fact_->sequence; }         ///< kOpened
  constexpr FileSeek seek() const { return seek_of(*fact_); }                  ///< kSeek
  constexpr std::uint64_t size() const { return fact_->bytes; }                ///< kSize
  constexpr std::uint64_t offset() const { return access_of(*fact_).offset; }  ///< kView: bytes
};

/// The number of a call among the collective calls on a file. If has_file() is false, another fact
/// of the call names the file. Exception: an MPI_File_open that failed or has not returned has no
/// file; comm() and sequence() are then its communicator and its number among the collectives on
/// it.
class FileCollective : public Event {
 public:
  using Event::Event;
  constexpr CommId comm() const { return fact_->comm; }
  constexpr bool has_file() const { return fact_->peer != kNoPeer; }
  constexpr FileId file() const { return file_of(*fact_); }
  constexpr std::uint32_t number() const { return fact_->request; }
  constexpr std::uint32_t sequence() const { return fact_->sequence; }
};

/// The call returned an error.
class Error : public Event {
 public:
  using Event::Event;
  constexpr std::int64_t code() const { return static_cast<std::int64_t>(fact_->bytes); }
};

/// Bytes that a local call packed, unpacked, reduced, allocated or measured; they are not sent.
class LocalBytes : public Event {
 public:
  using Event::Event;
  constexpr std::uint64_t bytes() const { return fact_->bytes; }
};

/// The call site of the call.
class CallSite : public Event {
 public:
  using Event::Event;
  /// Returns the number of the CallSiteDefinition; 0xFFFFFFFF if it is unknown.
  constexpr std::uint32_t site() const { return fact_->request - 1; }
};

/// An argument or result of the call. name: kCount if this version does not know it.
class Value : public Event {
 public:
  using Event::Event;
  constexpr ValueName name() const { return value_name_of(*fact_); }
  constexpr std::int64_t number() const { return value_of(*fact_); }
  /// Returns the value of a name for which is_real() is true.
  constexpr double real() const { return real_value_of(*fact_); }
};

/// The call did not return (FactKind::kLeft).
class Left : public Event {
 public:
  using Event::Event;
};

}  // namespace megascope::events
