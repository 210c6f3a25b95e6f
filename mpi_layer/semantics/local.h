#pragma once

#include "mpi_layer/handles/types.h"
#include "mpi_layer/semantics/comm.h"
#include "mpi_layer/semantics/rma.h"
#include "mpi_layer/semantics/topology.h"
#include "mpi_layer/semantics/type.h"

/// Semantics of local calls. Calls on attributes and error handlers belong to a communicator or
/// window and may call functions of the application. Packing, local reduction, buffers and memory
/// are recorded with their bytes. MPI-4.1 §5, §7.7, §9.
namespace megascope::mpi {

namespace local {

/// Records bytes that the call handled locally.
[[gnu::always_inline]] inline void record_bytes(MpiThread& thread, std::int64_t bytes) noexcept {
  if (bytes < 0) return;
  stage(thread, {.kind = FactKind::kLocalBytes, .bytes = static_cast<std::uint64_t>(bytes)});
}

/// Semantics of packing and unpacking. PositionAt: index of the position argument, which the call
/// increases by the number of packed bytes. kOnComm: whether the last argument is a communicator.
template <unsigned PositionAt, bool kOnComm>
struct Packing {
  static constexpr std::string_view kRecordedFields = kOnComm ? "communicator, bytes here"
                                                              : "bytes here";
  template <class... Args>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              Args&&... args) noexcept {
    if constexpr (kOnComm) set_comm(thread, call, last_of(args...));
    const auto* position = argument<PositionAt>(args...);
    if (position != nullptr) call.second.bytes = static_cast<std::uint64_t>(*position);
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              Args&&... args) noexcept {
    const auto before = static_cast<std::int64_t>(call.second.bytes);
    call.second = {};
    if (rc == MPI_SUCCESS)
      record_bytes(thread, std::int64_t{*argument<PositionAt>(args...)} - before);
  }
};

}  // namespace local

template <>
struct Semantics<Fn::Pack> : local::Packing<5, true> {};
template <>
struct Semantics<Fn::Unpack> : local::Packing<2, true> {};
template <>
struct Semantics<Fn::Pack_external> : local::Packing<6, false> {};
template <>
struct Semantics<Fn::Unpack_external> : local::Packing<3, false> {};

template <>
struct Semantics<Fn::Reduce_local> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "bytes here";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, const void*,
                                              void*, int count, MPI_Datatype type,
                                              MPI_Op) noexcept {
    if (rc == MPI_SUCCESS)
      local::record_bytes(thread, static_cast<std::int64_t>(payload_bytes(thread, count, type)));
  }
};
template <>
struct Semantics<Fn::Alloc_mem> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "bytes here";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, MPI_Aint size,
                                              MPI_Info, void*) noexcept {
    if (rc == MPI_SUCCESS) local::record_bytes(thread, size);
  }
};

template <>
struct Semantics<Fn::Buffer_attach> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "bytes here";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, void*,
                                              int size) noexcept {
    if (rc == MPI_SUCCESS) local::record_bytes(thread, size);
  }
};
template <>
struct Semantics<Fn::Buffer_detach> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "bytes here";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, void*,
                                              const int* size) noexcept {
    if (rc == MPI_SUCCESS) local::record_bytes(thread, *size);
  }
};
template <>
struct Semantics<Fn::Pack_size> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "communicator, bytes here";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int,
                                              MPI_Datatype, MPI_Comm comm, int*) noexcept {
    set_comm(thread, call, comm);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, int,
                                              MPI_Datatype, MPI_Comm, const int* size) noexcept {
    if (rc == MPI_SUCCESS) local::record_bytes(thread, *size);
  }
};
template <>
struct Semantics<Fn::Pack_external_size> : NoSemantics {
  static constexpr std::string_view kRecordedFields = "bytes here";
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, const char*,
                                              int, MPI_Datatype, const MPI_Aint* size) noexcept {
    if (rc == MPI_SUCCESS) local::record_bytes(thread, *size);
  }
};

namespace local {

/// Semantics of calls that free a keyval. describe() saves the keyval, because it is invalid after
/// the call.
struct FreeKeyval : NoSemantics {
  static constexpr std::string_view kRecordedFields = "keyval";
  static void describe(MpiThread&, CallRecord& call, const int* keyval) noexcept {
    if (keyval != nullptr) call.second.bytes = static_cast<std::uint64_t>(*keyval);
  }
  static void complete(MpiThread& thread, CallRecord& call, int rc, int*) noexcept {
    const auto keyval = static_cast<std::int64_t>(call.second.bytes);
    call.second = {};
    if (rc == MPI_SUCCESS) record_value(thread, ValueName::kKeyval, keyval);
  }
};
template <unsigned At>
using NewKeyval = Records<NoSemantics, RecordedArgument{At, ValueName::kKeyval}>;

template <class Object>
using Keyval = Records<Object, RecordedArgument{1, ValueName::kKeyval}>;
template <class Object>
using FoundKeyval = Records<Object, RecordedArgument{1, ValueName::kKeyval},
                            RecordedArgument{3, ValueName::kFlag}>;
template <class Object>
using ErrorCode = Records<Object, RecordedArgument{1, ValueName::kErrorCode}>;

}  // namespace local

#define MEGASCOPE_LOCAL(name, ...) \
  template <>                      \
  struct Semantics<Fn::name> : __VA_ARGS__ {};
MEGASCOPE_LOCAL(Comm_create_keyval, local::NewKeyval<2>)
MEGASCOPE_LOCAL(Type_create_keyval, local::NewKeyval<2>)
MEGASCOPE_LOCAL(Win_create_keyval, local::NewKeyval<2>)
MEGASCOPE_LOCAL(Keyval_create, local::NewKeyval<2>)
MEGASCOPE_LOCAL(Comm_free_keyval, local::FreeKeyval)
MEGASCOPE_LOCAL(Type_free_keyval, local::FreeKeyval)
MEGASCOPE_LOCAL(Win_free_keyval, local::FreeKeyval)
MEGASCOPE_LOCAL(Keyval_free, local::FreeKeyval)
MEGASCOPE_LOCAL(Attr_delete, local::Keyval<comm::About>)
MEGASCOPE_LOCAL(Attr_get, local::FoundKeyval<comm::About>)
MEGASCOPE_LOCAL(Attr_put, local::Keyval<comm::About>)
MEGASCOPE_LOCAL(Comm_delete_attr, local::Keyval<comm::About>)
MEGASCOPE_LOCAL(Comm_get_attr, local::FoundKeyval<comm::About>)
MEGASCOPE_LOCAL(Comm_set_attr, local::Keyval<comm::About>)
MEGASCOPE_LOCAL(Win_delete_attr, local::Keyval<one_sided::About>)
MEGASCOPE_LOCAL(Win_get_attr, local::FoundKeyval<one_sided::About>)
MEGASCOPE_LOCAL(Win_set_attr, local::Keyval<one_sided::About>)
MEGASCOPE_LOCAL(Comm_call_errhandler, local::ErrorCode<comm::About>)
MEGASCOPE_LOCAL(Win_call_errhandler, local::ErrorCode<one_sided::About>)
// The handler itself is not recorded.
MEGASCOPE_LOCAL(Comm_get_errhandler, comm::Object)
MEGASCOPE_LOCAL(Comm_set_errhandler, comm::Object)
MEGASCOPE_LOCAL(Win_get_errhandler, one_sided::Object)
MEGASCOPE_LOCAL(Win_set_errhandler, one_sided::Object)
MEGASCOPE_LOCAL(Add_error_class, Records<NoSemantics, RecordedArgument{0, ValueName::kErrorClass}>)
MEGASCOPE_LOCAL(Add_error_code, Records<NoSemantics, RecordedArgument{0, ValueName::kErrorClass},
                                        RecordedArgument{1, ValueName::kErrorCode}>)
MEGASCOPE_LOCAL(Error_class, Records<NoSemantics, RecordedArgument{0, ValueName::kErrorCode},
                                     RecordedArgument{1, ValueName::kErrorClass}>)
MEGASCOPE_LOCAL(Initialized, Records<NoSemantics, RecordedArgument{0, ValueName::kFlag}>)
MEGASCOPE_LOCAL(Finalized, Records<NoSemantics, RecordedArgument{0, ValueName::kFlag}>)
MEGASCOPE_LOCAL(Is_thread_main, Records<NoSemantics, RecordedArgument{0, ValueName::kFlag}>)
#undef MEGASCOPE_LOCAL

}  // namespace megascope::mpi
