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

/// State of a communicator. Created at first use and never freed. If MPI reuses the handle for
/// another communicator, the new communicator gets another state.
struct CommState {
  CommId id = kNoComm;       ///< kNoComm: the communicator could not be defined in the trace
  bool is_recorded = false;  ///< messages and collectives on it are recorded: all its members are
                             ///< in this world
  std::uint64_t global_name = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t remote_size = 0;  ///< intercommunicators only
  bool is_inter = false;
  std::uint32_t
      collective_count = 0;  ///< number of collectives started on the communicator. By MPI's rules
                             ///< only one thread at a time starts a collective
  std::uint32_t
      sync_at = kNeverSynced;  ///< MPI_COMM_WORLD: clocks are compared after the first collective
                               ///< that has at least this number and synchronises all ranks
  std::uint32_t creation_count = 0;   ///< number of calls that were collective over all members and
                                      ///< created a communicator from it
  std::uint32_t file_open_count = 0;  ///< number of calls of MPI_File_open on the communicator
  std::uint32_t window_count = 0;     ///< number of windows created on the communicator. By MPI's
                                      ///< rules only one thread at a time creates one
  std::uint32_t unseen_window_count = 0;  ///< windows that have the same members and whose creation
                                          ///< was not recorded
  std::string name;
  std::vector<std::int32_t> members;  ///< world ranks of members in this world
  std::vector<std::int32_t> remote_members;
  std::int32_t foreign_count = 0;  ///< members in other worlds
  /// Neighbours in the topology. A neighbourhood collective receives blocks from `sources` and
  /// sends blocks to `destinations`. Contains MPI_PROC_NULL at the edge of a grid. Queried once.
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

/// Returns the state of a communicator; nullptr for MPI_COMM_NULL. At first use, creates the state
/// by local MPI calls.
CommState* find_comm(MPI_Comm comm) noexcept;

/// Returns a communicator for a window or file whose own communicator is unknown. Its members are
/// those of `group`: MPI_COMM_WORLD if that has the same members; otherwise a communicator that
/// exists only in the trace and is used for all such objects with these members. Members of other
/// worlds are only counted. Returns nullptr if memory ran out.
CommState* comm_of_unseen(MPI_Group group) noexcept;

/// Changes when a handle is freed, which invalidates the caches of all threads.
extern std::atomic<std::uint64_t> g_comm_generation;
CommState* comm_state_slow_path(MpiThread& thread, MPI_Comm comm) noexcept;

/// Returns the state from the thread's cache, about 1 ns; nullptr if it is not there.
[[gnu::always_inline]] inline CommState* known_to(const MpiThread& thread, MPI_Comm comm) noexcept {
  const std::uint64_t key = key_of(comm);
  const ThreadCaches::CommSlot& slot = thread.caches
                                           .comms[comm_slot(key) % ThreadCaches::kHandleSlots];
  const bool is_here = slot.key == key && thread.caches.comm_generation ==
                                              g_comm_generation.load(std::memory_order_relaxed);
  return is_here ? slot.state : nullptr;
}
/// Returns the state of a communicator from the thread's cache, else that of find_comm().
[[gnu::always_inline]] inline CommState* comm_state(MpiThread& thread, MPI_Comm comm) noexcept {
  CommState* state = known_to(thread, comm);
  if (state == nullptr) [[unlikely]]
    state = comm_state_slow_path(thread, comm);
  return state;
}
/// Returns the state of a communicator that is not in the thread's cache. The parameters are values
/// and not the CallRecord, because a reference to it would force the record into memory in every
/// call (60 instructions). is_marked: mark the call as pending (mark_pending()) before MPI is
/// queried.
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
/// Checks that the communicator has the size stored in `state`, and returns `state`. If the size
/// differs, the handle was freed and reused by calls that were not intercepted; then returns a new
/// state. Call before reading arrays of the application with one element for each member.
CommState* verified(MpiThread& thread, MPI_Comm comm, CommState* state) noexcept;

/// Returns whether messages on the call's communicator are recorded. Call after set_comm().
[[gnu::always_inline]] inline bool is_recorded(const CallRecord& call) noexcept {
  return call.state != nullptr && call.state->is_recorded;
}

/// How a communicator was created. Its global name is derived from this.
struct CommOrigin {
  const char* function = "";  ///< "MPI_Comm_split"
  CommState* parent = nullptr;
  std::uint64_t name_seed = 0;  ///< hash of what all members know, except the leader
  std::uint32_t
      ordinal = 0;  ///< number of the creating call, for the generated name of the communicator
};

/// Returns the origin of a communicator, from which its global name is derived (CommOrigin). For a
/// creation that is collective over all of `parent`. Counts the creation in `parent`: every member
/// of `parent` must call it, also a member that gets MPI_COMM_NULL.
CommOrigin collective_origin(const char* function, CommState* parent) noexcept;
/// Returns the origin of a communicator that MPI_Comm_create_group or MPI_Intercomm_create created.
/// These creations are identified by members and tag.
CommOrigin group_origin(const char* function, CommState* parent, std::uint64_t members_hash,
                        int tag) noexcept;
/// Registers the new communicator and adds its fact. comm: may be MPI_COMM_NULL.
void adopt_comm(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// Registers a new communicator that must not be queried yet (MPI_Comm_idup), and adds its fact. It
/// has the members of its parent.
void adopt_duplicate(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// Registers the result of MPI_Intercomm_create. Both sides derive the same global name from the
/// two groups of the new communicator.
void adopt_intercomm(MpiThread& thread, MPI_Comm comm, const char* function, CommState* local,
                     int tag) noexcept;
/// Registers the result of MPI_Comm_accept, MPI_Comm_connect or MPI_Comm_join. The other group may
/// be in another world or in this one.
void adopt_connection(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// Registers the world that spawned this one, from MPI_Comm_get_parent. Does nothing after the
/// first time.
void adopt_parent(MpiThread& thread, MPI_Comm comm) noexcept;
/// Removes the handle `key` from the table if it still refers to `freed`. It does not if MPI has
/// already assigned it to a new communicator in another thread.
void forget_comm(std::uint64_t key, const CommState& freed) noexcept;
void rename_comm(CommState& state, const char* name) noexcept;

std::uint64_t hash_ranks(const std::vector<std::int32_t>& ranks) noexcept;
/// Returns the world ranks of a group's members, without members of other worlds.
std::vector<std::int32_t> world_ranks_of(MPI_Group group);
/// Returns hash_ranks() of the members; 0 if memory ran out.
std::uint64_t hash_of_members(MPI_Group group) noexcept;

}  // namespace megascope::mpi
