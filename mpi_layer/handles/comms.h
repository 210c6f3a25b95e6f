#pragma once

#include "core/record/definitions.h"
#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/lookup/abi.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::mpi {

/// Value of CommState::sync_at of a communicator on which clocks are never compared.
inline constexpr std::uint32_t kNeverSynced = ~std::uint32_t{0};

/// State of a communicator. Created at first use and never freed; if MPI reuses the handle for
/// another communicator, that gets a state of its own.
struct CommState {
  CommId id = kNoComm;       ///< kNoComm: it could not be described
  bool is_recorded = false;  ///< messages and collectives on it are recorded: all its members are
                             ///< in this world
  std::uint64_t global_name = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t remote_size = 0;  ///< intercommunicators only
  bool is_inter = false;
  std::uint32_t collective_count = 0;  ///< collectives started on it so far; one thread at a time,
                                       ///< by MPI's rules
  std::uint32_t sync_at = kNeverSynced;  ///< MPI_COMM_WORLD: from this collective on, clocks are
                                         ///< compared in the next one that synchronises all ranks
  std::uint32_t creation_count = 0;  ///< communicators created from it by calls that are collective
                                     ///< over all of it
  std::uint32_t file_open_count = 0;  ///< calls of MPI_File_open on it so far
  std::uint32_t window_count = 0;  ///< windows created on it; one thread at a time, by MPI's rules
  std::uint32_t
      unseen_window_count = 0;  ///< windows with its members whose creation was not recorded
  std::string name;
  std::vector<std::int32_t> members;  ///< world ranks of members in this world
  std::vector<std::int32_t> remote_members;
  std::int32_t foreign_count = 0;  ///< members in other worlds
  /// Topology neighbours from which blocks are received and to which they are sent; MPI_PROC_NULL
  /// at the edge of a grid. Queried once.
  struct Neighbours {
    std::vector<std::int32_t> sources;
    std::vector<std::int32_t> destinations;
  };
  std::atomic<const Neighbours*> neighbours{nullptr};
};

/// Returns the neighbours of a communicator with a topology; empty lists without one. Local MPI
/// calls at first use.
const CommState::Neighbours& neighbours_of(CommState& state, MPI_Comm comm) noexcept;

/// Defines MPI_COMM_WORLD and MPI_COMM_SELF. Call after PMPI_Init.
void define_predefined_comms();

/// Returns the state of any handle; nullptr for MPI_COMM_NULL. Describes it at first use by local
/// MPI calls only.
CommState* find_comm(MPI_Comm comm) noexcept;

/// Returns a communicator with the group's members, for an object whose own communicator is
/// unknown: the world, else one that stands for all such groups. Members of other worlds are only
/// counted. nullptr: memory ran out.
CommState* comm_of_unseen(MPI_Group group) noexcept;

/// Changes when a handle is freed, which invalidates the caches of all threads.
extern std::atomic<std::uint64_t> g_comm_generation;
CommState* comm_state_slow_path(MpiThread& thread, MPI_Comm comm) noexcept;

/// Returns the state from the thread's cache, about 1 ns; nullptr if it is not there.
[[gnu::always_inline]] inline CommState* known_to(const MpiThread& thread, MPI_Comm comm) noexcept {
  const std::uint64_t key = key_of(comm);
  const MpiThread::CommSlot& slot = thread.comms[comm_slot(key) % MpiThread::kCacheSlots];
  const bool is_here = slot.key == key &&
                       thread.comm_generation == g_comm_generation.load(std::memory_order_relaxed);
  return is_here ? slot.state : nullptr;
}
/// Returns the state of a communicator from the thread's cache, else that of find_comm().
[[gnu::always_inline]] inline CommState* comm_state(MpiThread& thread, MPI_Comm comm) noexcept {
  CommState* state = known_to(thread, comm);
  if (state == nullptr) [[unlikely]]
    state = comm_state_slow_path(thread, comm);
  return state;
}
/// Returns the state of a communicator that is not in the thread's cache. Takes values and not the
/// call, which would otherwise be forced into memory in every call (60 instructions). is_marked:
/// set the mark of the call first.
[[gnu::cold]] CommState* find_comm_of_call(MpiThread& thread, MPI_Comm comm, Fn fn,
                                           std::uint64_t enter_ticks, bool is_marked) noexcept;

/// Sets the call's communicator and returns its state.
[[gnu::always_inline]] inline CommState* set_comm(MpiThread& thread, CallRecord& call,
                                                  MPI_Comm comm) noexcept {
  CommState* state = known_to(thread, comm);
  if (state == nullptr) [[unlikely]] {
    state = find_comm_of_call(thread, comm, call.fn, call.enter_ticks,
                              call.depth == 0 && !call.is_silent);
  }
  call.state = state;
  if (state != nullptr) call.comm = state->id;
  return state;
}
/// Returns the state of a communicator after checking its size: another state if it was freed
/// unseen and its handle reused. Call before reading arrays of the application with one element for
/// each member.
CommState* verified(MpiThread& thread, MPI_Comm comm, CommState* state) noexcept;

/// Returns whether messages on the call's communicator are recorded. Call after set_comm().
[[gnu::always_inline]] inline bool is_recorded(const CallRecord& call) noexcept {
  return call.state != nullptr && call.state->is_recorded;
}

/// How a communicator was created; determines its global name.
struct CommOrigin {
  const char* function = "";  ///< "MPI_Comm_split"
  CommState* parent = nullptr;
  std::uint64_t name_seed = 0;  ///< hash of what all members know, except the leader
  std::uint32_t ordinal = 0;    ///< number of the creation, for its generated name
};

/// Begins a creation that is collective over all of `parent`. Called by every member, also by one
/// that gets MPI_COMM_NULL.
CommOrigin collective_origin(const char* function, CommState* parent) noexcept;
/// For MPI_Comm_create_group and MPI_Intercomm_create, which are identified by members and tag.
CommOrigin group_origin(const char* function, CommState* parent, std::uint64_t members_hash,
                        int tag) noexcept;
/// Registers the new communicator and adds its fact. comm: may be MPI_COMM_NULL.
void adopt_comm(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// Registers a new communicator that must not be queried yet (MPI_Comm_idup), and adds its fact. It
/// has the members of its parent.
void adopt_duplicate(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// MPI_Intercomm_create: derives the members from both groups of the new handle, equally on both
/// sides.
void adopt_intercomm(MpiThread& thread, MPI_Comm comm, const char* function, CommState* local,
                     int tag) noexcept;
/// MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join: the other side may be in another world or in
/// this one.
void adopt_connection(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// Registers the world that spawned this one, from MPI_Comm_get_parent. Does nothing after the
/// first time.
void adopt_parent(MpiThread& thread, MPI_Comm comm) noexcept;
/// Removes the handle of `freed` from the table, unless another thread has got it for a new
/// communicator already.
void forget_comm(std::uint64_t key, const CommState& freed) noexcept;
void rename_comm(CommState& state, const char* name) noexcept;

std::uint64_t hash_ranks(const std::vector<std::int32_t>& ranks) noexcept;
/// Returns the world ranks of a group's members, without members of other worlds.
std::vector<std::int32_t> world_ranks_of(MPI_Group group);
/// Returns hash_ranks() of the members; 0 if memory ran out.
std::uint64_t hash_of_members(MPI_Group group) noexcept;

}  // namespace megascope::mpi
