#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/files.h"
#include "mpi_layer/handles/requests.h"
#include "mpi_layer/handles/types.h"
#include "mpi_layer/semantics/coll.h"
#include "mpi_layer/semantics/p2p.h"
#include "mpi_layer/semantics/recorded_arguments.h"

/// Semantics of calls on files other than transfers: open, close, views, sizes, positions. A call
/// on a file belongs to the communicator of its MPI_File_open. MPI-4.1 §14.2, §14.3; OTF2
/// IoCreateHandle, IoDestroyHandle, IoSeek.
namespace megascope::mpi {

namespace io {

/// Sets the call's file if the handle is known.
[[gnu::always_inline]] inline void set_file(MpiThread& thread, CallRecord& call,
                                            MPI_File file) noexcept {
  call.file = file_state(thread, file);
  if (call.file != nullptr) [[likely]]
    call.comm = call.file->comm;
}
/// Returns the file of a call that has returned `rc`; nullptr if the call failed or memory ran out.
/// If the handle is unknown, queries it, because the success of the call shows that it is valid.
[[gnu::always_inline]] inline FileState* file_of_success(CallRecord& call, int rc,
                                                         MPI_File file) noexcept {
  if (rc != MPI_SUCCESS) return nullptr;
  if (call.file == nullptr) [[unlikely]] {
    call.file = adopt_unseen_file(file);
    if (call.file != nullptr) call.comm = call.file->comm;
  }
  return call.file;
}
/// Adds a fact about the file to the call.
[[gnu::always_inline]] inline void record(MpiThread& thread, const FileState& file,
                                          Fact fact) noexcept {
  fact.peer = static_cast<std::int32_t>(file.id);
  fact.comm = file.comm;
  stage(thread, fact);
}

[[gnu::always_inline]] inline std::uint64_t shown_offset(MPI_Offset offset) noexcept {
  return offset >= 0 ? static_cast<std::uint64_t>(offset) : kNoOffset;
}

/// begin_collective() counts the collective calls on a file, so that an analysis can match the
/// calls of different processes. The first call has number 0. The number and the file are
/// stored also while the call is pending, in the mark that readers see after a crash or a hang
/// (mark_pending()). The call is not counted if the file is unknown.
/// end_collective() adds the number to a call that succeeded, after the fact that names the file.
/// If MPI rejected the arguments (is_refusal), the operation did not begin on this process, and the
/// next one gets the number. After any other error the number remains used and is not recorded.
[[gnu::always_inline]] inline void begin_collective(CallRecord& call) noexcept {
  if (call.file == nullptr) return;
  call.main = {.kind = FactKind::kFileCollective,
               .comm = call.file->comm,
               .request = call.file->collective_count++,
               .peer = static_cast<std::int32_t>(call.file->id)};
}
[[gnu::always_inline]] inline void end_collective(MpiThread& thread, CallRecord& call,
                                                  int rc) noexcept {
  if (call.main.kind != FactKind::kFileCollective) return;
  const RequestId number = call.main.request;
  call.main = {};
  if (rc == MPI_SUCCESS)
    stage(thread, {.kind = FactKind::kFileCollective, .request = number});
  else if (is_refusal(rc))
    --call.file->collective_count;
}
template <class Call>
struct Collective : Call {
  template <class... Args>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              Args&&... args) noexcept {
    Call::describe(thread, call, args...);
    begin_collective(call);
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              Args&&... args) noexcept {
    Call::complete(thread, call, rc, args...);
    end_collective(thread, call, rc);
  }
};

/// Semantics of calls of which only the file is recorded.
template <FactKind kKind = FactKind::kFileUsed>
struct About {
  static constexpr std::string_view kRecordedFields = "communicator, file";
  template <class... Rest>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              Rest&&...) noexcept {
    set_file(thread, call, file);
  }
  template <class... Rest>
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, Rest&&...) noexcept {
    if (const FileState* file = file_of_success(call, rc, handle))
      record(thread, *file, {.kind = kKind});
  }
};

/// Like About, for calls with further meaningful arguments, of which not all are recorded.
struct Object : About<> {
  static constexpr bool kNamesObject = true;
};
template <RecordedArgument... kRecordedArguments>
using Asked = Records<About<>, kRecordedArguments...>;

/// Also records the file size that was set or returned.
struct Size : Also<About<>, "size"> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, MPI_Offset size) noexcept {
    const FileState* file = file_of_success(call, rc, handle);
    if (file == nullptr) return;
    record(thread, *file, {.kind = FactKind::kFileSize, .bytes = static_cast<std::uint64_t>(size)});
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, const MPI_Offset* size) noexcept {
    complete(thread, call, rc, handle, rc == MPI_SUCCESS ? *size : 0);
  }
};

/// Returns a seek with its resulting position. is_shared: the call moved the shared file pointer,
/// whose query may need a message or a lock.
FileSeek seek_result(MPI_File file, MPI_Offset offset, int whence, bool is_shared) noexcept;

struct View : Also<About<>, "view"> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, MPI_Offset begin, MPI_Datatype etype,
                                              MPI_Datatype, const char*, MPI_Info) noexcept {
    const FileState* file = file_of_success(call, rc, handle);
    if (file == nullptr) return;
    record(thread, *file,
           transfer_fact(FactKind::kFileView, file->id, file->comm,
                         {shown_offset(begin), type_size(thread, etype), false}));
  }
};

template <bool kIsShared>
struct Seek : Also<About<>, "seek"> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, MPI_Offset offset,
                                              int whence) noexcept {
    const FileState* file = file_of_success(call, rc, handle);
    if (file == nullptr) return;
    record(thread, *file,
           seek_fact(file->id, file->comm, seek_result(handle, offset, whence, kIsShared)));
  }
};

}  // namespace io

template <>
struct Semantics<Fn::File_open> {
  static constexpr std::string_view kRecordedFields = "communicator, file";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_Comm comm,
                                              const char*, int, MPI_Info, MPI_File*) noexcept {
    if (coll::begin(thread, call, comm) == nullptr) return;
    call.main.kind = FactKind::kFileCollective;
    call.main.request = call.main.sequence;
    call.main.peer = static_cast<std::int32_t>(kNoFile);
  }
  /// Also counts opens that failed, because a call may fail on some members and succeed on others.
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_Comm,
                                              const char* name, int amode, MPI_Info,
                                              MPI_File* handle) noexcept {
    const bool is_counted = call.main.kind == FactKind::kFileCollective;
    const std::uint32_t number = call.main.sequence;
    call.main = {};
    if (call.state == nullptr) return;
    if (is_refusal(rc)) {
      call.state->collective_count -= is_counted ? 1 : 0;
      return;
    }
    ++call.state->file_open_count;
    if (rc != MPI_SUCCESS) {
      if (is_counted)
        stage(thread, {.kind = FactKind::kFileCollective, .comm = call.comm, .sequence = number});
      return;
    }
    const FileState* file = adopt_file(*handle, *call.state, name, amode);
    if (file != nullptr)
      io::record(thread, *file, {.kind = FactKind::kFileOpened, .sequence = number});
  }
};

template <>
struct Semantics<Fn::File_close> {
  static constexpr std::string_view kRecordedFields = "communicator, file";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              MPI_File* handle) noexcept {
    if (handle == nullptr) return;
    io::set_file(thread, call, *handle);
    call.second.bytes = key_of(*handle);
    io::begin_collective(call);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File*) noexcept {
    const std::uint64_t key = call.second.bytes;
    call.second = {};
    if (call.file == nullptr) return;
    if (rc == MPI_SUCCESS) {
      forget_file(key, *call.file);
      io::record(thread, *call.file, {.kind = FactKind::kFileClosed});
    }
    io::end_collective(thread, call, rc);
  }
};

template <>
struct Semantics<Fn::File_delete> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "file";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc,
                                              const char* name, MPI_Info) noexcept {
    if (rc != MPI_SUCCESS) return;
    const FileId file = file_by_name(name);
    if (file != kNoFile) stage(thread, file_fact(FactKind::kFileDeleted, file, kNoComm));
  }
};

/// Functions with Collective must have the trait kCollectiveOnObject in the function table.
#define MEGASCOPE_IO(name, ...) \
  template <>                   \
  struct Semantics<Fn::File_##name> : io::__VA_ARGS__ {};
MEGASCOPE_IO(seek, Seek<false>)
MEGASCOPE_IO(seek_shared, Collective<io::Seek<true>>)
MEGASCOPE_IO(set_view, Collective<io::View>)
MEGASCOPE_IO(sync, Collective<io::About<FactKind::kFileSync>>)
MEGASCOPE_IO(set_size, Collective<io::Size>)
MEGASCOPE_IO(preallocate, Collective<io::Size>)
MEGASCOPE_IO(get_size, Size)
MEGASCOPE_IO(get_position, Asked<RecordedArgument{1, ValueName::kOffset}>)
MEGASCOPE_IO(get_position_shared, Asked<RecordedArgument{1, ValueName::kOffset}>)
MEGASCOPE_IO(
    get_byte_offset,
    Asked<RecordedArgument{1, ValueName::kOffset}, RecordedArgument{2, ValueName::kByteOffset}>)
MEGASCOPE_IO(get_type_extent, Asked<RecordedArgument{2, ValueName::kExtent}>)
MEGASCOPE_IO(get_view, Object)
MEGASCOPE_IO(get_amode, Asked<RecordedArgument{1, ValueName::kAccessMode}>)
MEGASCOPE_IO(get_group, About<>)
MEGASCOPE_IO(get_info, Object)
MEGASCOPE_IO(set_info, Collective<io::Object>)
MEGASCOPE_IO(get_atomicity, Asked<RecordedArgument{1, ValueName::kAtomicity}>)
MEGASCOPE_IO(set_atomicity, Collective<io::Asked<RecordedArgument{1, ValueName::kAtomicity}>>)
MEGASCOPE_IO(get_errhandler, Object)
MEGASCOPE_IO(set_errhandler, Object)
MEGASCOPE_IO(call_errhandler, Asked<RecordedArgument{1, ValueName::kErrorCode}>)
#undef MEGASCOPE_IO

}  // namespace megascope::mpi
