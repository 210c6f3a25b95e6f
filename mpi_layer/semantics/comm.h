#pragma once

#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/windows.h"
#include "mpi_layer/semantics/coll.h"
#include "mpi_layer/semantics/recorded_arguments.h"
#include "mpi_layer/table/regions.h"

/// Semantics of calls that create, name, query or free communicators. MPI-4.1 §7.
namespace megascope::mpi {

namespace comm {

/// Semantics of calls of which only the communicator is recorded.
struct About : NoSemantics {
  static constexpr std::string_view kRecordedFields = "communicator";
  template <class... Args>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              Args&&... args) noexcept {
    set_comm(thread, call, first_of(args...));
  }
};

/// Like About, for calls with further meaningful arguments, of which not all are recorded.
struct Object : About {
  static constexpr bool kNamesObject = true;
};

/// Creation of a communicator by a call that is collective over the whole parent communicator.
template <Fn F>
struct CollectiveCreation {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, new communicator";
  template <class... Args>
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              Args&&... args) noexcept {
    coll::begin(thread, call, first_of(args...));
  }
  template <class... Args>
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              Args&&... args) noexcept {
    if (coll::take_back_refused(call, rc)) return;
    const CommOrigin origin = collective_origin(mpi_name(F), call.state);
    if (rc == MPI_SUCCESS) adopt_comm(thread, *last_of(args...), origin);
  }
};

}  // namespace comm

#define MEGASCOPE_CREATION(name, ...) \
  template <>                         \
  struct Semantics<Fn::name>          \
      : Records<comm::CollectiveCreation<Fn::name> __VA_OPT__(, ) __VA_ARGS__> {};
MEGASCOPE_CREATION(Comm_dup)
MEGASCOPE_CREATION(Comm_dup_with_info)
MEGASCOPE_CREATION(Comm_create)
MEGASCOPE_CREATION(Comm_split, RecordedArgument{1, ValueName::kColor},
                   RecordedArgument{2, ValueName::kKey})
MEGASCOPE_CREATION(Comm_split_type, RecordedArgument{1, ValueName::kSplitType},
                   RecordedArgument{2, ValueName::kKey})
MEGASCOPE_CREATION(Intercomm_merge, RecordedArgument{1, ValueName::kHigh})
MEGASCOPE_CREATION(Cart_create, RecordedArgument{2, ValueName::kDimension, 1},
                   RecordedArgument{3, ValueName::kPeriodic, 1},
                   RecordedArgument{4, ValueName::kReorder})
MEGASCOPE_CREATION(Cart_sub, RecordedArgument{1, ValueName::kRemains, RecordedArgument::kGrid})
MEGASCOPE_CREATION(Graph_create, RecordedArgument{1, ValueName::kNodes},
                   RecordedArgument{4, ValueName::kReorder})
MEGASCOPE_CREATION(Dist_graph_create, RecordedArgument{1, ValueName::kNodes},
                   RecordedArgument{7, ValueName::kReorder})
MEGASCOPE_CREATION(Dist_graph_create_adjacent, RecordedArgument{1, ValueName::kSources},
                   RecordedArgument{4, ValueName::kDestinations},
                   RecordedArgument{8, ValueName::kReorder})
#undef MEGASCOPE_CREATION

template <>
struct Semantics<Fn::Comm_idup> {
  static constexpr std::string_view
      kRecordedFields = "communicator, sequence number, new communicator, request";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call, MPI_Comm comm,
                                              MPI_Comm*, MPI_Request*) noexcept {
    coll::begin(thread, call, comm);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_Comm,
                                              MPI_Comm* result, MPI_Request* request) noexcept {
    coll::started(thread, call, rc, *request);
    if (is_refusal(rc)) return;
    const CommOrigin origin = collective_origin(mpi_name(Fn::Comm_idup), call.state);
    if (rc == MPI_SUCCESS) adopt_duplicate(thread, *result, origin);
  }
};

namespace comm {

struct GroupCreation : Also<About, "new communicator"> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_Comm,
                                              MPI_Group group, int tag, MPI_Comm* result) noexcept {
    if (rc != MPI_SUCCESS) return;
    adopt_comm(
        thread, *result,
        group_origin(mpi_name(Fn::Comm_create_group), call.state, hash_of_members(group), tag));
  }
};
struct Bridge : Also<About, "new communicator"> {
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc, MPI_Comm,
                                              int, MPI_Comm, int, int tag,
                                              MPI_Comm* result) noexcept {
    if (rc == MPI_SUCCESS)
      adopt_intercomm(thread, *result, mpi_name(Fn::Intercomm_create), call.state, tag);
  }
};

/// Semantics of calls that free a communicator.
struct End {
  static constexpr std::string_view kRecordedFields = "communicator";
  [[gnu::always_inline]] static void describe(MpiThread& thread, CallRecord& call,
                                              MPI_Comm* comm) noexcept {
    if (comm == nullptr) return;
    set_comm(thread, call, *comm);
    call.second.bytes = key_of(*comm);
  }
  [[gnu::always_inline]] static void complete(MpiThread& thread, CallRecord& call, int rc,
                                              MPI_Comm*) noexcept {
    const std::uint64_t key = call.second.bytes;
    call.second = {};
    if (rc != MPI_SUCCESS || call.state == nullptr) return;
    forget_comm(key, *call.state);
    if (call.comm != kNoComm) stage(thread, {.kind = FactKind::kCommFreed, .comm = call.comm});
  }
};

}  // namespace comm

template <>
struct Semantics<Fn::Comm_create_group>
    : Records<comm::GroupCreation, RecordedArgument{2, ValueName::kMessageTag}> {};
template <>
struct Semantics<Fn::Intercomm_create>
    : Records<comm::Bridge, RecordedArgument{1, ValueName::kLocalLeader},
              RecordedArgument{3, ValueName::kRemoteLeader},
              RecordedArgument{4, ValueName::kMessageTag}> {};
template <>
struct Semantics<Fn::Comm_free> : comm::End {};
template <>
struct Semantics<Fn::Comm_disconnect> : comm::End {};

template <>
struct Semantics<Fn::Comm_set_name> : comm::About {
  [[gnu::always_inline]] static void complete(MpiThread&, CallRecord& call, int rc, MPI_Comm,
                                              const char* name) noexcept {
    if (rc == MPI_SUCCESS && call.state != nullptr) rename_comm(*call.state, name);
  }
};

// The communicator's definition has what these functions query: members, the caller's rank, names.
#define MEGASCOPE_ABOUT(name) \
  template <>                 \
  struct Semantics<Fn::name> : comm::About {};
MEGASCOPE_ABOUT(Comm_rank)
MEGASCOPE_ABOUT(Comm_size)
MEGASCOPE_ABOUT(Comm_remote_size)
MEGASCOPE_ABOUT(Comm_test_inter)
MEGASCOPE_ABOUT(Comm_group)
MEGASCOPE_ABOUT(Comm_remote_group)
MEGASCOPE_ABOUT(Comm_get_name)
#undef MEGASCOPE_ABOUT
template <>
struct Semantics<Fn::Comm_compare>
    : Records<comm::Object, RecordedArgument{2, ValueName::kComparison}> {};
template <>
struct Semantics<Fn::Comm_get_info> : comm::Object {};
template <>
struct Semantics<Fn::Comm_set_info> : comm::Object {};

}  // namespace megascope::mpi
