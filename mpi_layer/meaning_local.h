#pragma once

#include "mpi_layer/meaning_comm.h"
#include "mpi_layer/meaning_rma.h"
#include "mpi_layer/types.h"

/// Calls that stay in their process: attributes and error handlers, which are of a communicator or window and may call back;
/// packing, local reduction, buffers and memory, which have bytes. MPI-4.1 §5, §7.7, §9.
namespace megascope::mpi {

namespace local {

/// Bytes that the call handled here; they went to nobody.
[[gnu::always_inline]] inline void tell_bytes(MpiThread& thread, std::int64_t bytes) noexcept {
  if (bytes < 0) return;
  stage(thread, {.kind = FactKind::kLocalBytes, .bytes = static_cast<std::uint64_t>(bytes)});
}

/// PositionAt: which argument is moved over the packed bytes. kOnComm: the last one is a communicator.
template <unsigned PositionAt, bool kOnComm>
struct Packing {
  template <class... Args>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, Args&... args) noexcept {
    if constexpr (kOnComm) set_comm(thread, call, last_of(args...));
    const auto* position = argument<PositionAt>(args...);
    if (position != nullptr) call.second.bytes = static_cast<std::uint64_t>(*position);
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, Args&... args) noexcept {
    const auto before = static_cast<std::int64_t>(call.second.bytes);
    call.second = {};
    if (rc == MPI_SUCCESS) tell_bytes(thread, std::int64_t{*argument<PositionAt>(args...)} - before);
  }
};

}  // namespace local

template <> struct Meaning<Fn::Pack> : local::Packing<5, true> {};
template <> struct Meaning<Fn::Unpack> : local::Packing<2, true> {};
template <> struct Meaning<Fn::Pack_external> : local::Packing<6, false> {};
template <> struct Meaning<Fn::Unpack_external> : local::Packing<3, false> {};

template <> struct Meaning<Fn::Reduce_local> : NoMeaning {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, const void*, void*, int count,
                                              MPI_Datatype type, MPI_Op) noexcept {
    if (rc == MPI_SUCCESS) local::tell_bytes(thread, static_cast<std::int64_t>(payload_bytes(thread, count, type)));
  }
};
template <> struct Meaning<Fn::Alloc_mem> : NoMeaning {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, MPI_Aint size, MPI_Info, void*) noexcept {
    if (rc == MPI_SUCCESS) local::tell_bytes(thread, size);
  }
};

template <> struct Meaning<Fn::Buffer_attach> : NoMeaning {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, void*, int size) noexcept {
    if (rc == MPI_SUCCESS) local::tell_bytes(thread, size);
  }
};
template <> struct Meaning<Fn::Buffer_detach> : NoMeaning {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, void*, const int* size) noexcept {
    if (rc == MPI_SUCCESS) local::tell_bytes(thread, *size);
  }
};
template <> struct Meaning<Fn::Pack_size> : NoMeaning {
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, int, MPI_Datatype, MPI_Comm comm, int*) noexcept {
    set_comm(thread, call, comm);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, int, MPI_Datatype, MPI_Comm,
                                              const int* size) noexcept {
    if (rc == MPI_SUCCESS) local::tell_bytes(thread, *size);
  }
};
template <> struct Meaning<Fn::Pack_external_size> : NoMeaning {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord&, int rc, const char*, int, MPI_Datatype,
                                              const MPI_Aint* size) noexcept {
    if (rc == MPI_SUCCESS) local::tell_bytes(thread, *size);
  }
};

#define MEGASCOPE_ABOUT(name) \
  template <> struct Meaning<Fn::name> : comm::About {};
MEGASCOPE_ABOUT(Attr_delete)
MEGASCOPE_ABOUT(Attr_get)
MEGASCOPE_ABOUT(Attr_put)
MEGASCOPE_ABOUT(Comm_delete_attr)
MEGASCOPE_ABOUT(Comm_get_attr)
MEGASCOPE_ABOUT(Comm_set_attr)
MEGASCOPE_ABOUT(Comm_call_errhandler)
MEGASCOPE_ABOUT(Comm_get_errhandler)
MEGASCOPE_ABOUT(Comm_set_errhandler)
#undef MEGASCOPE_ABOUT

#define MEGASCOPE_ABOUT_WINDOW(name) \
  template <> struct Meaning<Fn::name> : one_sided::About {};
MEGASCOPE_ABOUT_WINDOW(Win_delete_attr)
MEGASCOPE_ABOUT_WINDOW(Win_get_attr)
MEGASCOPE_ABOUT_WINDOW(Win_set_attr)
MEGASCOPE_ABOUT_WINDOW(Win_call_errhandler)
MEGASCOPE_ABOUT_WINDOW(Win_get_errhandler)
MEGASCOPE_ABOUT_WINDOW(Win_set_errhandler)
#undef MEGASCOPE_ABOUT_WINDOW

}  // namespace megascope::mpi
