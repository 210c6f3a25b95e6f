#pragma once

#include "mpi_layer/files.h"
#include "mpi_layer/intercept.h"
#include "mpi_layer/meaning_coll.h"
#include "mpi_layer/meaning_p2p.h"
#include "mpi_layer/requests.h"
#include "mpi_layer/told.h"
#include "mpi_layer/types.h"

/// Files: which one, bytes asked for and transferred, offset where it is explicit. A call on a file
/// is on the communicator of its MPI_File_open. MPI-4.1 §14; OTF2 IoCreateHandle …
/// IoOperationComplete.
namespace megascope::mpi {

namespace io {

/// Sets the file that the call is about, as far as it is known.
[[gnu::always_inline]] inline void set_file(MpiThread& thread, CallRecord& call,
                                            MPI_File file) noexcept {
  call.file = file_state(thread, file);
  if (call.file != nullptr) [[likely]]
    call.comm = call.file->comm;
}
/// The file of a call that has succeeded, so that an unknown handle may be asked. nullptr: there is
/// nothing to tell.
[[gnu::always_inline]] inline FileState* file_of_success(CallRecord& call, int rc,
                                                         MPI_File file) noexcept {
  if (rc != MPI_SUCCESS) return nullptr;
  if (call.file == nullptr) [[unlikely]] {
    call.file = adopt_unseen_file(file);
    if (call.file != nullptr) call.comm = call.file->comm;
  }
  return call.file;
}
/// Tells the fact, now that the file is known.
[[gnu::always_inline]] inline void tell(MpiThread& thread, const FileState& file,
                                        Fact fact) noexcept {
  fact.peer = static_cast<std::int32_t>(file.id);
  fact.comm = file.comm;
  stage(thread, fact);
}

[[gnu::always_inline]] inline std::uint64_t shown_offset(MPI_Offset offset) noexcept {
  return offset >= 0 ? static_cast<std::uint64_t>(offset) : kNoOffset;
}

/// A call collective over those that opened the file takes its number, which the mark of the
/// pending call tells with the file; when it has returned it is told behind the file's own fact.
/// One that MPI refused did not begin (take_back_refused).
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

/// What is asked for is kept in `second` while MPI works.
template <FactKind kKind, bool kIsCollective>
struct Transfer {
  static constexpr std::string_view kTells = "communicator, file, offset where given, file bytes";
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
  /// A status of ours holds the whole count, for a library that leaves it as it is.
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
    tell(thread, *file, fact);
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
    if (call.is_silent) fact.kind = FactKind::kNone;  // of what began unrecorded no end is told
    fact.request = start_request(thread, *request, fact);
    if (!call.is_silent) stage(thread, fact);
  }
};

/// Split collectives: nonblocking operations whose request is the file.
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
  static constexpr std::string_view kTells = "communicator, file, file bytes, request";
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

/// Names the file, no more.
template <FactKind kKind = FactKind::kFileUsed>
struct About {
  static constexpr std::string_view kTells = "communicator, file";
  template <class... Rest>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_File file,
                                              Rest&&...) noexcept {
    set_file(thread, call, file);
  }
  template <class... Rest>
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, Rest&&...) noexcept {
    if (const FileState* file = file_of_success(call, rc, handle))
      tell(thread, *file, {.kind = kKind});
  }
};

/// The same, where the call has arguments that mean more.
struct Object : About<> {
  static constexpr bool kNamesObject = true;
};
template <Told... kTold>
using Asked = Tells<About<>, kTold...>;

/// Also its size: as it was set, or as it was told.
struct Size : Also<About<>, "size"> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, MPI_Offset size) noexcept {
    const FileState* file = file_of_success(call, rc, handle);
    if (file == nullptr) return;
    tell(thread, *file, {.kind = FactKind::kFileSize, .bytes = static_cast<std::uint64_t>(size)});
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, const MPI_Offset* size) noexcept {
    complete(thread, call, rc, handle, rc == MPI_SUCCESS ? *size : 0);
  }
};

/// Where a seek led to. is_shared: the pointer is everybody's, and asking for it may take a message
/// or a lock.
FileSeek seek_result(MPI_File file, MPI_Offset offset, int whence, bool is_shared) noexcept;

struct View : Also<About<>, "view"> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_File handle, MPI_Offset begin, MPI_Datatype etype,
                                              MPI_Datatype, const char*, MPI_Info) noexcept {
    const FileState* file = file_of_success(call, rc, handle);
    if (file == nullptr) return;
    tell(thread, *file,
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
    tell(thread, *file,
         seek_fact(file->id, file->comm, seek_result(handle, offset, whence, kIsShared)));
  }
};

}  // namespace io

template <>
struct Meaning<Fn::File_open> {
  static constexpr std::string_view kTells = "communicator, file";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_Comm comm,
                                              const char*, int, MPI_Info, MPI_File*) noexcept {
    if (coll::begin(thread, call, comm) == nullptr) return;
    call.main.kind = FactKind::kFileCollective;
    call.main.request = call.main.sequence;
    call.main.peer = static_cast<std::int32_t>(kNoFile);
  }
  /// Openings that failed count as well: whether they did may differ between the members.
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
      io::tell(thread, *file, {.kind = FactKind::kFileOpened, .sequence = number});
  }
};

template <>
struct Meaning<Fn::File_close> {
  static constexpr std::string_view kTells = "communicator, file";
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
      io::tell(thread, *call.file, {.kind = FactKind::kFileClosed});
    }
    io::end_collective(thread, call, rc);
  }
};

template <>
struct Meaning<Fn::File_delete> : NoMeaning {
  static constexpr std::string_view kTells = "file";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc,
                                              const char* name, MPI_Info) noexcept {
    if (rc != MPI_SUCCESS) return;
    const FileId file = file_by_name(name);
    if (file != kNoFile) stage(thread, file_fact(FactKind::kFileDeleted, file, kNoComm));
  }
};

/// Which are Collective here, selection.h lists too.
#define MEGASCOPE_IO(name, ...) \
  template <>                   \
  struct Meaning<Fn::File_##name> : io::__VA_ARGS__ {};
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
MEGASCOPE_IO(seek, Seek<false>)
MEGASCOPE_IO(seek_shared, Collective<io::Seek<true>>)
MEGASCOPE_IO(set_view, Collective<io::View>)
MEGASCOPE_IO(sync, Collective<io::About<FactKind::kFileSync>>)
MEGASCOPE_IO(set_size, Collective<io::Size>)
MEGASCOPE_IO(preallocate, Collective<io::Size>)
MEGASCOPE_IO(get_size, Size)
MEGASCOPE_IO(get_position, Asked<Told{1, ValueName::kOffset}>)
MEGASCOPE_IO(get_position_shared, Asked<Told{1, ValueName::kOffset}>)
MEGASCOPE_IO(get_byte_offset, Asked<Told{1, ValueName::kOffset}, Told{2, ValueName::kByteOffset}>)
MEGASCOPE_IO(get_type_extent, Asked<Told{2, ValueName::kExtent}>)
MEGASCOPE_IO(get_view, Object)
MEGASCOPE_IO(get_amode, Asked<Told{1, ValueName::kAccessMode}>)
MEGASCOPE_IO(get_group, About<>)
MEGASCOPE_IO(get_info, Object)
MEGASCOPE_IO(set_info, Collective<io::Object>)
MEGASCOPE_IO(get_atomicity, Asked<Told{1, ValueName::kAtomicity}>)
MEGASCOPE_IO(set_atomicity, Collective<io::Asked<Told{1, ValueName::kAtomicity}>>)
MEGASCOPE_IO(get_errhandler, Object)
MEGASCOPE_IO(set_errhandler, Object)
MEGASCOPE_IO(call_errhandler, Asked<Told{1, ValueName::kErrorCode}>)
#undef MEGASCOPE_IO

}  // namespace megascope::mpi
