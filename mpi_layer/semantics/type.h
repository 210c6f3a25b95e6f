#pragma once

#include "mpi_layer/handles/types.h"
#include "mpi_layer/handles/windows.h"
#include "mpi_layer/semantics/recorded_arguments.h"

/// Semantics of calls on groups and datatypes. A trace does not define groups and datatypes; of
/// these calls only sizes are recorded, as values. MPI-4.1 §5, §7.3.
namespace megascope::mpi {

namespace type {

/// Semantics of calls whose last argument is a new group. Records the number of its members, by a
/// local MPI call.
struct NewGroup : NoSemantics {
  static constexpr std::string_view kRecordedFields = "members";
  static constexpr bool kNamesObject = true;
  template <class... Args>
  static void complete(MpiThread& thread, CallRecord&, int rc, Args&&... args) noexcept {
    if (rc == MPI_SUCCESS) record_group_size(thread, *last_of(args...));
  }
};
/// Semantics of calls whose last argument is a new datatype. Records the bytes of data in one
/// element.
struct NewType : NoSemantics {
  static constexpr std::string_view kRecordedFields = "type_bytes";
  static constexpr bool kNamesObject = true;
  template <class... Args>
  static void complete(MpiThread& thread, CallRecord&, int rc, Args&&... args) noexcept {
    if (rc != MPI_SUCCESS) return;
    record_value(thread, ValueName::kTypeBytes,
                 static_cast<std::int64_t>(type_size(thread, *last_of(args...))));
  }
};
/// Semantics of queries of a group or datatype. Records the results.
template <RecordedArgument... kRecordedArguments>
struct Asked : Records<NoSemantics, kRecordedArguments...> {
  static constexpr bool kNamesObject = true;
};
using Extent = Asked<RecordedArgument{1, ValueName::kLowerBound},
                     RecordedArgument{2, ValueName::kExtent}>;

}  // namespace type

template <>
struct Semantics<Fn::Group_size> : type::Asked<RecordedArgument{1, ValueName::kSize}> {};
template <>
struct Semantics<Fn::Group_rank> : type::Asked<RecordedArgument{1, ValueName::kRank}> {};
template <>
struct Semantics<Fn::Group_compare> : type::Asked<RecordedArgument{2, ValueName::kComparison}> {};
template <>
struct Semantics<Fn::Group_union> : type::NewGroup {};
template <>
struct Semantics<Fn::Group_intersection> : type::NewGroup {};
template <>
struct Semantics<Fn::Group_difference> : type::NewGroup {};
template <>
struct Semantics<Fn::Group_incl> : type::NewGroup {};
template <>
struct Semantics<Fn::Group_excl> : type::NewGroup {};
template <>
struct Semantics<Fn::Group_range_incl> : type::NewGroup {};
template <>
struct Semantics<Fn::Group_range_excl> : type::NewGroup {};

template <>
struct Semantics<Fn::Type_get_extent> : type::Extent {};
template <>
struct Semantics<Fn::Type_get_extent_x> : type::Extent {};
template <>
struct Semantics<Fn::Type_get_true_extent> : type::Extent {};
template <>
struct Semantics<Fn::Type_get_true_extent_x> : type::Extent {};

#define MEGASCOPE_TYPE(name) \
  template <>                \
  struct Semantics<Fn::Type_##name> : type::NewType {};
MEGASCOPE_TYPE(contiguous)
MEGASCOPE_TYPE(vector)
MEGASCOPE_TYPE(indexed)
MEGASCOPE_TYPE(dup)
MEGASCOPE_TYPE(match_size)
MEGASCOPE_TYPE(create_darray)
MEGASCOPE_TYPE(create_f90_complex)
MEGASCOPE_TYPE(create_f90_integer)
MEGASCOPE_TYPE(create_f90_real)
MEGASCOPE_TYPE(create_hindexed)
MEGASCOPE_TYPE(create_hindexed_block)
MEGASCOPE_TYPE(create_hvector)
MEGASCOPE_TYPE(create_indexed_block)
MEGASCOPE_TYPE(create_resized)
MEGASCOPE_TYPE(create_struct)
MEGASCOPE_TYPE(create_subarray)
// MPI-3.0 removed these functions, and some mpi.h do not declare them. Their Fortran forms pass
// addresses and extents as INTEGER, which is shorter than MPI_Aint. This has no effect here,
// because addresses and extents are not recorded.
MEGASCOPE_WHERE_DECLARED(Type_hindexed, MEGASCOPE_TYPE(hindexed))
MEGASCOPE_WHERE_DECLARED(Type_hvector, MEGASCOPE_TYPE(hvector))
MEGASCOPE_WHERE_DECLARED(Type_struct, MEGASCOPE_TYPE(struct))
#undef MEGASCOPE_TYPE

/// Semantics of calls that free a handle. The caches of handles are invalidated before and after
/// the call: another thread may get the handle for a new object before the call returns, and an
/// attribute function may use the old handle during the call.
template <std::atomic<std::uint64_t>& kGeneration, class Handle>
struct Frees {
  static constexpr bool kTracksHandlesOnly = true;
  [[gnu::always_inline]] static void describe(MpiThread&, CallRecord&, Handle*) noexcept {
    kGeneration.fetch_add(1, std::memory_order_relaxed);
  }
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord&, int rc, Handle*) noexcept {
    if (rc == MPI_SUCCESS) kGeneration.fetch_add(1, std::memory_order_relaxed);
  }
};
template <>
struct Semantics<Fn::Type_free> : Frees<g_type_generation, MPI_Datatype> {};
template <>
struct Semantics<Fn::Group_free> : Frees<g_group_generation, MPI_Group> {
};  // synchronisations of windows name groups

}  // namespace megascope::mpi
