#pragma once

#include "core/record/definitions.h"
#include "mpi_layer/abi.h"
#include "mpi_layer/call_record.h"
#include "mpi_layer/thread.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::mpi {

/// CommState::sync_at of one on which clocks are never compared.
inline constexpr std::uint32_t kNeverSynced = ~std::uint32_t{0};

/// What we know of a communicator. Made when it is first seen, never freed: a handle may be used
/// again for another one, which gets a state of its own.
struct CommState {
  CommId id = kNoComm;   ///< kNoComm: could not be described
  bool is_told = false;  ///< messages and collectives on it are recorded: all its members are of
                         ///< this world
  std::uint64_t global_name = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t remote_size = 0;  ///< of an intercommunicator
  bool is_inter = false;
  std::uint32_t
      collective_count = 0;  ///< started on it so far; one thread at a time, by MPI's rules
  std::uint32_t
      sync_at = kNeverSynced;  ///< of MPI_COMM_WORLD: from this collective on, clocks are compared
                               ///< in the next one in which everybody waits for everybody
  std::uint32_t
      creation_count = 0;  ///< communicators made from it by calls collective over all of it
  std::uint32_t file_open_count = 0;  ///< MPI_File_open on it so far
  std::uint32_t window_count = 0;     ///< windows made on it; one thread at a time, by MPI's rules
  std::uint32_t
      unseen_window_count = 0;  ///< windows with its members that were made out of our sight
  std::string name;
  std::vector<std::int32_t> members;  ///< world ranks, of this world
  std::vector<std::int32_t> remote_members;
  std::int32_t foreign_count = 0;  ///< members of other worlds
  /// Topology neighbours that a block is received from and sent to, MPI_PROC_NULL where a grid
  /// ends. Asked once.
  struct Neighbours {
    std::vector<std::int32_t> sources;
    std::vector<std::int32_t> destinations;
  };
  std::atomic<const Neighbours*> neighbours{nullptr};
};

/// Of a communicator with a topology; empty lists without one. Local calls at first use.
const CommState::Neighbours& neighbours_of(CommState& state, MPI_Comm comm) noexcept;

/// Describes MPI_COMM_WORLD and MPI_COMM_SELF. After PMPI_Init.
void define_predefined_comms();

/// Of any handle; nullptr for MPI_COMM_NULL. Described at first sight by local calls only.
CommState* find_comm(MPI_Comm comm) noexcept;

/// A communicator with the group's members, when theirs is not known: the world, else one that
/// stands for all such. Members of other worlds are only counted. nullptr: memory ran out.
CommState* comm_of_unseen(MPI_Group group) noexcept;

/// Moves when a handle has become free: what threads remember is void.
extern std::atomic<std::uint64_t> g_comm_generation;
CommState* comm_state_slowly(MpiThread& thread, MPI_Comm comm) noexcept;

/// Through the thread's cache; about 1 ns. nullptr: not there.
[[gnu::always_inline]] inline CommState* known_to(const MpiThread& thread, MPI_Comm comm) noexcept {
  const std::uint64_t key = key_of(comm);
  const MpiThread::CommSlot& slot = thread.comms[comm_slot(key) % MpiThread::kCacheSlots];
  const bool is_here = slot.key == key &&
                       thread.comm_generation == g_comm_generation.load(std::memory_order_relaxed);
  return is_here ? slot.state : nullptr;
}
/// find_comm through the thread's cache.
[[gnu::always_inline]] inline CommState* comm_state(MpiThread& thread, MPI_Comm comm) noexcept {
  CommState* state = known_to(thread, comm);
  if (state == nullptr) [[unlikely]]
    state = comm_state_slowly(thread, comm);
  return state;
}
/// Of a communicator that the thread does not know. No reference to the call: it would have to lie
/// in memory, initialised, in every call (60 instructions). is_marked: its mark is to be set first.
[[gnu::cold]] CommState* find_comm_of_call(MpiThread& thread, MPI_Comm comm, Fn fn,
                                           std::uint64_t enter_ticks, bool is_marked) noexcept;

/// Sets the call's communicator.
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
/// The state of a communicator that has as many members as MPI says: another one when it was freed
/// out of our sight and its handle is in use again. Before arrays of the application are read that
/// have as many elements.
CommState* verified(MpiThread& thread, MPI_Comm comm, CommState* state) noexcept;

/// Are messages on the call's communicator recorded? After set_comm().
[[gnu::always_inline]] inline bool is_told(const CallRecord& call) noexcept {
  return call.state != nullptr && call.state->is_told;
}

/// How a communicator came into being: what gives it its global name.
struct CommOrigin {
  const char* function = "";  ///< "MPI_Comm_split"
  CommState* parent = nullptr;
  std::uint64_t name_seed = 0;  ///< hash of what all members know, except the leader
  std::uint32_t ordinal = 0;    ///< for people: the how many-th
};

/// A creation collective over all of `parent` begins. Called by every member, whatever it gets.
CommOrigin collective_origin(const char* function, CommState* parent) noexcept;
/// MPI_Comm_create_group and MPI_Intercomm_create: agreed by members and tag.
CommOrigin group_origin(const char* function, CommState* parent, std::uint64_t members_hash,
                        int tag) noexcept;
/// Registers the new communicator and adds the fact. comm may be MPI_COMM_NULL.
void adopt_comm(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// The same for one that may not be asked yet (MPI_Comm_idup): members as in its parent.
void adopt_duplicate(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// MPI_Intercomm_create: the new handle's two sides tell who is in it, on both sides alike.
void adopt_intercomm(MpiThread& thread, MPI_Comm comm, const char* function, CommState* local,
                     int tag) noexcept;
/// MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join: the other side may be of another world, or of
/// this one.
void adopt_connection(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept;
/// The world that started this one, when MPI_Comm_get_parent gives it; known after the first time.
void adopt_parent(MpiThread& thread, MPI_Comm comm) noexcept;
/// The handle of `freed` is free again; another thread may have got it for a new communicator
/// already.
void forget_comm(std::uint64_t key, const CommState& freed) noexcept;
void rename_comm(CommState& state, const char* name) noexcept;

std::uint64_t hash_ranks(const std::vector<std::int32_t>& ranks) noexcept;
/// World ranks of a group's members, those of other worlds left out.
std::vector<std::int32_t> world_ranks_of(MPI_Group group);
/// hash_ranks() of these; 0 where memory ran out.
std::uint64_t hash_of_members(MPI_Group group) noexcept;

}  // namespace megascope::mpi
