#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/files.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/handles/types.h"
#include "mpi_layer/semantics/file.h"
#include "mpi_layer/semantics/p2p.h"
#include "mpi_layer/semantics/recorded_arguments.h"

/// Semantics of file transfers. They record the file, the bytes requested and transferred, and an
/// explicit offset. MPI-4.1 §14.4; OTF2 IoOperationBegin … IoOperationComplete.
namespace megascope::mpi {

namespace io {

/// Base of all transfers. During the call, CallRecord::second holds the requested transfer.
template <FactKind kKind, bool kIsCollective>
struct Transfer {
  static constexpr std::string_view
      kRecordedFields = "communicator, file, offset where given, file bytes";
  [[gnu::always_inline]] static void ask(MpiThread& thread, CallRecord& call, MPI_File file,
                                         std::uint64_t offset, int count,
                                         MPI_Datatype type) noexcept {
    set_file(thread, call, file);
    call.second = transfer_fact(kKind, kNoFile, kNoComm,
                                {offset, payload_bytes(thread, count, type), kIsCollective});
  }
  [[gnu::always_inline]] static Fact asked(CallRecord& call) noexcept {
    const Fact fact = detail::copy_of(call.second);
    call.second = {};
    return fact;
  }
};

template <FactKind kKind, bool kIsCollective = false>
struct Blocking : Transfer<kKind, kIsCollective> {
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              const void*, int count, MPI_Datatype type,
                                              MPI_Status*& status) noexcept {
    Blocking::ask(thread, call, file, kNoOffset, count, type);
    want_count(thread, call, status);
  }
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              MPI_Offset offset, const void*, int count,
                                              MPI_Datatype type, MPI_Status*& status) noexcept {
    Blocking::ask(thread, call, file, shown_offset(offset), count, type);
    want_count(thread, call, status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File file, const void*, int, MPI_Datatype,
                                              MPI_Status* status) noexcept {
    done(thread, call, rc, file, *status);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File file, MPI_Offset, const void*, int,
                                              MPI_Datatype, MPI_Status* status) noexcept {
    done(thread, call, rc, file, *status);
  }

 private:
  /// If the application ignores the status, replaces it by a status of the library whose count is
  /// all requested bytes. Some MPI libraries do not set the count.
  [[gnu::always_inline]] static void want_count(MpiThread& thread, const CallRecord& call,
                                                MPI_Status*& status) noexcept {
    if (status != MPI_STATUS_IGNORE) return;
    p2p::want_status(thread, call, status);
    set_received_bytes(*status, call.second.bytes);
  }
  [[gnu::always_inline]] static void done(MpiThread& thread, CallRecord& call, int rc,
                                          MPI_File handle, const MPI_Status& status) noexcept {
    Fact fact = Blocking::asked(call);
    const FileState* file = file_of_success(call, rc, handle);
    if (file == nullptr) return;
    set_transferred(fact, received_bytes(status));
    record(thread, *file, fact);
  }
};

template <FactKind kKind, bool kIsCollective = false>
struct Nonblocking : Also<Transfer<kKind, kIsCollective>, "request"> {
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              const void*, int count, MPI_Datatype type,
                                              MPI_Request*) noexcept {
    Nonblocking::ask(thread, call, file, kNoOffset, count, type);
  }
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              MPI_Offset offset, const void*, int count,
                                              MPI_Datatype type, MPI_Request*) noexcept {
    Nonblocking::ask(thread, call, file, shown_offset(offset), count, type);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File file, const void*, int, MPI_Datatype,
                                              MPI_Request* request) noexcept {
    started(thread, call, rc, file, request);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File file, MPI_Offset, const void*, int,
                                              MPI_Datatype, MPI_Request* request) noexcept {
    started(thread, call, rc, file, request);
  }

 private:
  [[gnu::always_inline]] static void started(MpiThread& thread, CallRecord& call, int rc,
                                             MPI_File handle, const MPI_Request* request) noexcept {
    Fact fact = Nonblocking::asked(call);
    const FileState* file = file_of_success(call, rc, handle);
    if (file == nullptr) return;
    fact.peer = static_cast<std::int32_t>(file->id);
    fact.comm = file->comm;
    if (call.is_silent)
      fact.kind = FactKind::kNone;  // the completion of an unrecorded start is not recorded
    fact.request = start_request(thread, *request, fact);
    if (!call.is_silent) stage(thread, fact);
  }
};

/// Begin of a split collective. It is recorded like a nonblocking transfer; the file handle
/// identifies the operation instead of a request.
template <FactKind kKind>
struct Begin : Also<Transfer<kKind, true>, "request"> {
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              const void*, int count, MPI_Datatype type) noexcept {
    Begin::ask(thread, call, file, kNoOffset, count, type);
  }
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              MPI_Offset offset, const void*, int count,
                                              MPI_Datatype type) noexcept {
    Begin::ask(thread, call, file, shown_offset(offset), count, type);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File file, const void*, int,
                                              MPI_Datatype) noexcept {
    begun(thread, call, rc, file);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File file, MPI_Offset, const void*, int,
                                              MPI_Datatype) noexcept {
    begun(thread, call, rc, file);
  }

 private:
  [[gnu::always_inline]] static void begun(MpiThread& thread, CallRecord& call, int rc,
                                           MPI_File handle) noexcept {
    Fact fact = Begin::asked(call);
    FileState* file = file_of_success(call, rc, handle);
    if (file == nullptr) return;
    fact.peer = static_cast<std::int32_t>(file->id);
    fact.comm = file->comm;
    if (call.is_silent) fact.kind = FactKind::kNone;
    fact.request = requests().new_id();
    file->split = fact;
    file->split_location = thread.buffer->location();
    if (!call.is_silent) stage(thread, fact);
  }
};

struct End {
  static constexpr std::string_view kRecordedFields = "communicator, file, file bytes, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              const void*, MPI_Status*& status) noexcept {
    set_file(thread, call, file);
    if (status != MPI_STATUS_IGNORE) return;
    p2p::want_status(thread, call, status);
    if (call.file != nullptr) set_received_bytes(*status, call.file->split.bytes);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_File,
                                              const void*, MPI_Status* status) noexcept {
    if (call.file == nullptr || call.file->split.kind == FactKind::kNone) return;
    const Fact start = call.file->split;
    call.file->split.kind = FactKind::kNone;
    if (rc == MPI_SUCCESS) {
      stage_transferred(thread, start, call.file->split_location, status);
    } else {
      stage(thread, {.kind = FactKind::kRequestFreed, .request = start.request});
    }
  }
};

}  // namespace io

/// Functions with Collective must have the trait kCollectiveOnObject in the function table.
#define MEGASCOPE_IO(name, ...) \
  template <>                   \
  struct Semantics<Fn::File_##name> : io::__VA_ARGS__ {};
MEGASCOPE_IO(read, Blocking<FactKind::kFileRead>)
MEGASCOPE_IO(read_at, Blocking<FactKind::kFileRead>)
MEGASCOPE_IO(read_shared, Blocking<FactKind::kFileRead>)
MEGASCOPE_IO(read_all, Collective<io::Blocking<FactKind::kFileRead, true>>)
MEGASCOPE_IO(read_at_all, Collective<io::Blocking<FactKind::kFileRead, true>>)
MEGASCOPE_IO(read_ordered, Collective<io::Blocking<FactKind::kFileRead, true>>)
MEGASCOPE_IO(write, Blocking<FactKind::kFileWrite>)
MEGASCOPE_IO(write_at, Blocking<FactKind::kFileWrite>)
MEGASCOPE_IO(write_shared, Blocking<FactKind::kFileWrite>)
MEGASCOPE_IO(write_all, Collective<io::Blocking<FactKind::kFileWrite, true>>)
MEGASCOPE_IO(write_at_all, Collective<io::Blocking<FactKind::kFileWrite, true>>)
MEGASCOPE_IO(write_ordered, Collective<io::Blocking<FactKind::kFileWrite, true>>)
MEGASCOPE_IO(iread, Nonblocking<FactKind::kFileReadRequest>)
MEGASCOPE_IO(iread_at, Nonblocking<FactKind::kFileReadRequest>)
MEGASCOPE_IO(iread_shared, Nonblocking<FactKind::kFileReadRequest>)
MEGASCOPE_IO(iread_all, Collective<io::Nonblocking<FactKind::kFileReadRequest, true>>)
MEGASCOPE_IO(iread_at_all, Collective<io::Nonblocking<FactKind::kFileReadRequest, true>>)
MEGASCOPE_IO(iwrite, Nonblocking<FactKind::kFileWriteRequest>)
MEGASCOPE_IO(iwrite_at, Nonblocking<FactKind::kFileWriteRequest>)
MEGASCOPE_IO(iwrite_shared, Nonblocking<FactKind::kFileWriteRequest>)
MEGASCOPE_IO(iwrite_all, Collective<io::Nonblocking<FactKind::kFileWriteRequest, true>>)
MEGASCOPE_IO(iwrite_at_all, Collective<io::Nonblocking<FactKind::kFileWriteRequest, true>>)
MEGASCOPE_IO(read_all_begin, Collective<io::Begin<FactKind::kFileReadRequest>>)
MEGASCOPE_IO(read_at_all_begin, Collective<io::Begin<FactKind::kFileReadRequest>>)
MEGASCOPE_IO(read_ordered_begin, Collective<io::Begin<FactKind::kFileReadRequest>>)
MEGASCOPE_IO(write_all_begin, Collective<io::Begin<FactKind::kFileWriteRequest>>)
MEGASCOPE_IO(write_at_all_begin, Collective<io::Begin<FactKind::kFileWriteRequest>>)
MEGASCOPE_IO(write_ordered_begin, Collective<io::Begin<FactKind::kFileWriteRequest>>)
MEGASCOPE_IO(read_all_end, Collective<io::End>)
MEGASCOPE_IO(read_at_all_end, Collective<io::End>)
MEGASCOPE_IO(read_ordered_end, Collective<io::End>)
MEGASCOPE_IO(write_all_end, Collective<io::End>)
MEGASCOPE_IO(write_at_all_end, Collective<io::End>)
MEGASCOPE_IO(write_ordered_end, Collective<io::End>)
#undef MEGASCOPE_IO

}  // namespace megascope::mpi
