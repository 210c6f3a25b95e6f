#include "mpi_layer/handles/comms.h"

#include "core/base/never_destroyed.h"
#include "mpi_layer/calls/no_memory.h"
#include "mpi_layer/handles/hash.h"
#include "mpi_layer/lookup/pmpi.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace megascope::mpi {

std::atomic<std::uint64_t> g_comm_generation{1};

namespace {

std::mutex g_mutex;
std::unordered_map<std::uint64_t, CommState*>& states() {
  static NeverDestroyed<std::unordered_map<std::uint64_t, CommState*>> map;
  return *map;
}
std::map<std::uint64_t, std::uint32_t>& repetition_counts() {
  static NeverDestroyed<std::map<std::uint64_t, std::uint32_t>> map;
  return *map;
}
std::map<std::vector<std::int32_t>, CommState*>& unseen_comms() {
  static NeverDestroyed<std::map<std::vector<std::int32_t>, CommState*>> map;
  return *map;
}
/// Returns the communicator that a window or file created unseen is most likely on, by members and
/// the number of members in other worlds.
CommState*& unseen_comm(const CommState& like) {
  std::vector<std::int32_t> key = like.members;
  key.push_back(-like.foreign_count);
  return unseen_comms()[key];
}
CommId g_next_id = 0;
MPI_Group g_world_group;

/// Returns the world ranks and frees the group, also if memory runs out.
std::vector<std::int32_t> take_world_ranks_of(MPI_Group group) {
  struct Free {
    MPI_Group group;
    ~Free() { pmpi<Fn::Group_free>()(&group); }
  };
  const Free free{group};
  return world_ranks_of(group);
}

/// Queries the members. Returns false if MPI reports an invalid handle. No lock may be held: an
/// error or signal handler of the application may leave the MPI calls by longjmp.
bool ask_members(MPI_Comm comm, CommState& state) {
  int is_inter = 0;
  MPI_Group group = g_handles.group_null;
  if (pmpi<Fn::Comm_test_inter>()(comm, &is_inter) != MPI_SUCCESS ||
      pmpi<Fn::Comm_rank>()(comm, &state.rank) != MPI_SUCCESS ||
      pmpi<Fn::Comm_size>()(comm, &state.size) != MPI_SUCCESS ||
      pmpi<Fn::Comm_group>()(comm, &group) != MPI_SUCCESS) {
    return false;
  }
  state.is_inter = is_inter != 0;
  state.members = take_world_ranks_of(group);
  state.foreign_count = state.size - static_cast<std::int32_t>(state.members.size());
  if (!state.is_inter) return true;
  if (pmpi<Fn::Comm_remote_size>()(comm, &state.remote_size) != MPI_SUCCESS ||
      pmpi<Fn::Comm_remote_group>()(comm, &group) != MPI_SUCCESS) {
    return false;
  }
  state.remote_members = take_world_ranks_of(group);
  state.foreign_count += state.remote_size - static_cast<std::int32_t>(state.remote_members.size());
  return true;
}

/// kRemote: ranks of other worlds are only counted, and those of this world are on one side.
void define_remote(CommDefinition& definition, const CommState& state) {
  definition.kind = CommKind::kRemote;
  std::vector<std::int32_t> here = state.members;
  here.insert(here.end(), state.remote_members.begin(), state.remote_members.end());
  definition.members = compress(here);
  definition.remote_members = {{.first = 0, .stride = 1, .count = state.foreign_count}};
}

/// Defines the communicator in the trace. It stays undefined if memory runs out.
void define(CommState* state, CommKind kind, CommId parent) {
  Recorder* active = recorder();
  if (active == nullptr) return;
  CommDefinition definition{.id = g_next_id,
                            .parent = parent,
                            .global_name = state->global_name,
                            .kind = kind,
                            .name = state->name,
                            .my_rank = state->rank,
                            .members = compress(state->members),
                            .remote_members = compress(state->remote_members)};
  const bool is_recorded = state->foreign_count == 0;
  if (!is_recorded) define_remote(definition, *state);
  if (!active->define(definition)) return;
  state->id = g_next_id++;
  state->is_recorded = is_recorded;
}

void publish(std::uint64_t key, CommState* state, CommKind kind, CommId parent) {
  if (recorder() == nullptr) return;
  CommState*& slot = states()[key];
  slot = state;
  g_comm_generation.fetch_add(1, std::memory_order_relaxed);
  or_nothing([&] { define(state, kind, parent); });
}

std::int32_t leader_of(const CommState& state) {
  std::int32_t leader = state.members.empty() ? 0 : state.members.front();
  if (!state.remote_members.empty()) leader = std::min(leader, state.remote_members.front());
  return leader;
}

/// Adds a state to the table, where it stays for ever. Call with the lock held.
CommState* register_comm(MPI_Comm comm, std::unique_ptr<CommState> state,
                         const CommOrigin& origin) {
  const auto leader = static_cast<std::uint64_t>(leader_of(*state));
  state->global_name = mix(mix(origin.name_seed, leader), 1);
  state->name = std::string(origin.function) + " #" + std::to_string(origin.ordinal);
  if (origin.parent != nullptr) state->name += " of " + origin.parent->name;
  const CommId parent = origin.parent != nullptr ? origin.parent->id : kNoComm;
  publish(key_of(comm), state.get(), state->is_inter ? CommKind::kInter : CommKind::kIntra, parent);
  return state.release();
}

}  // namespace

std::vector<std::int32_t> world_ranks_of(MPI_Group group) {
  int size = 0;
  pmpi<Fn::Group_size>()(group, &size);
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(size));
  std::vector<std::int32_t> world(ranks.size());
  for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  if (size > 0)
    pmpi<Fn::Group_translate_ranks>()(group, size, ranks.data(), g_world_group, world.data());
  std::erase(world, MPI_UNDEFINED);
  return world;
}

std::uint64_t hash_ranks(const std::vector<std::int32_t>& ranks) noexcept {
  std::uint64_t hash = 0x51ED270B;
  for (const std::int32_t rank : ranks) hash = mix(hash, static_cast<std::uint64_t>(rank));
  return hash;
}

void define_predefined_comms() {
  pmpi<Fn::Comm_group>()(g_handles.comm_world, &g_world_group);
  auto* world = new CommState;
  auto* self = new CommState;
  ask_members(g_handles.comm_world, *world);
  ask_members(g_handles.comm_self, *self);
  const std::lock_guard lock(g_mutex);
  world->name = "MPI_COMM_WORLD";
  world->global_name = mix(hash_text("MPI_COMM_WORLD"), 0);
  publish(key_of(g_handles.comm_world), world, CommKind::kWorld, kNoComm);
  unseen_comm(*world) = world;
  self->name = "MPI_COMM_SELF";
  self->global_name = mix(hash_text("MPI_COMM_SELF"), static_cast<std::uint64_t>(leader_of(*self)));
  publish(key_of(g_handles.comm_self), self, CommKind::kSelf, kNoComm);
  if (CommState*& known = unseen_comm(*self); known == nullptr) known = self;
}

namespace {

CommState* known_comm(MPI_Comm comm) {
  const std::lock_guard lock(g_mutex);
  const auto found = states().find(key_of(comm));
  return found != states().end() ? found->second : nullptr;
}

}  // namespace

namespace {

/// Describes a communicator created unseen by a library that calls PMPI, or an invalid handle.
CommState* learn_comm(MPI_Comm comm) {
  auto state = std::make_unique<CommState>();
  if (!ask_members(comm, *state)) return nullptr;
  const std::lock_guard lock(g_mutex);
  if (const auto found = states().find(key_of(comm)); found != states().end()) return found->second;
  const std::uint64_t seed = mix(hash_ranks(state->members), hash_ranks(state->remote_members));
  const std::uint32_t ordinal = repetition_counts()[mix(seed, hash_text("unseen"))]++;
  return register_comm(comm, std::move(state),
                       {"unknown origin", nullptr, mix(seed, ordinal), ordinal + 1});
}

CommState* learn_comm_of(MPI_Group group) {
  auto state = std::make_unique<CommState>();
  pmpi<Fn::Group_rank>()(group, &state->rank);
  pmpi<Fn::Group_size>()(group, &state->size);
  state->members = world_ranks_of(group);
  state->foreign_count = state->size - static_cast<std::int32_t>(state->members.size());
  const std::lock_guard lock(g_mutex);
  CommState*& known = unseen_comm(*state);
  if (known != nullptr) return known;
  state->global_name = mix(hash_ranks(state->members), hash_text("unseen"));
  state->name = "unknown communicator #" + std::to_string(unseen_comms().size());
  known = state.release();
  define(known, CommKind::kIntra, kNoComm);
  return known;
}

}  // namespace

CommState* find_comm(MPI_Comm comm) noexcept {
  if (comm == g_handles.comm_null || comm == MPI_Comm{}) return nullptr;
  if (CommState* known = known_comm(comm); known != nullptr) return known;
  return or_nothing([comm] { return learn_comm(comm); });
}

CommState* comm_of_unseen(MPI_Group group) noexcept {
  return or_nothing([group] { return learn_comm_of(group); });
}

CommState* comm_state_slow_path(MpiThread& thread, MPI_Comm comm) noexcept {
  CommState* state = find_comm(comm);
  if (state == nullptr) return nullptr;
  const std::uint64_t generation = g_comm_generation.load(std::memory_order_relaxed);
  if (thread.caches.comm_generation != generation) {
    for (ThreadCaches::CommSlot& slot : thread.caches.comms) slot = {};
    thread.caches.comm_generation = generation;
  }
  const std::uint64_t key = key_of(comm);
  thread.caches.comms[comm_slot(key) % ThreadCaches::kHandleSlots] = {key, state};
  return state;
}

CommState* find_comm_of_call(MpiThread& thread, MPI_Comm comm, Fn fn, std::uint64_t enter_ticks,
                             bool is_marked) noexcept {
  // Mark the call before the queries: if MPI crashes in them, the trace shows the call.
  CallRecord call;
  call.fn = fn;
  call.enter_ticks = enter_ticks;
  if (is_marked) mark_pending(*thread.buffer, call);
  return comm_state_slow_path(thread, comm);
}

CommState* verified(MpiThread& thread, MPI_Comm comm, CommState* state) noexcept {
  int size = state->size;
  int remote_size = state->remote_size;
  pmpi<Fn::Comm_size>()(comm, &size);
  if (state->is_inter) pmpi<Fn::Comm_remote_size>()(comm, &remote_size);
  if (size == state->size && remote_size == state->remote_size) [[likely]]
    return state;
  forget_comm(key_of(comm), *state);
  return comm_state_slow_path(thread, comm);
}

CommOrigin collective_origin(const char* function, CommState* parent) noexcept {
  if (parent == nullptr) return {function, nullptr, hash_text(function), 0};
  const std::uint32_t count = ++parent->creation_count;
  return {function, parent, mix(mix(hash_text("collective"), parent->global_name), count), count};
}

CommOrigin group_origin(const char* function, CommState* parent, std::uint64_t members_hash,
                        int tag) noexcept {
  std::uint64_t seed = mix(mix(hash_text(function), members_hash), static_cast<std::uint64_t>(tag));
  if (parent != nullptr) seed = mix(seed, parent->global_name);
  const std::uint32_t count = or_nothing([seed] {
    const std::lock_guard lock(g_mutex);
    return ++repetition_counts()[seed];
  });
  return {function, parent, mix(seed, count), count};
}

std::uint64_t hash_of_members(MPI_Group group) noexcept {
  return or_nothing([group] { return hash_ranks(world_ranks_of(group)); });
}

namespace {

/// Registers a communicator that was just created, and adds the fact. state: its members.
void adopt(MpiThread& thread, MPI_Comm comm, std::unique_ptr<CommState> state,
           const CommOrigin& origin) {
  CommState* registered = nullptr;
  {
    const std::lock_guard lock(g_mutex);
    registered = register_comm(comm, std::move(state), origin);
  }
  if (registered->id != kNoComm)
    stage(thread, {.kind = FactKind::kCommCreated, .comm = registered->id});
}

std::unique_ptr<CommState> members_like(const CommState& parent) {
  auto state = std::make_unique<CommState>();
  state->rank = parent.rank;
  state->size = parent.size;
  state->remote_size = parent.remote_size;
  state->is_inter = parent.is_inter;
  state->members = parent.members;
  state->remote_members = parent.remote_members;
  state->foreign_count = parent.foreign_count;
  return state;
}

}  // namespace

void adopt_comm(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept {
  if (comm == g_handles.comm_null) return;
  or_nothing([&] {
    auto state = std::make_unique<CommState>();
    ask_members(comm, *state);
    adopt(thread, comm, std::move(state), origin);
  });
}

void adopt_duplicate(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept {
  if (comm == g_handles.comm_null || origin.parent == nullptr) return;
  or_nothing([&] { adopt(thread, comm, members_like(*origin.parent), origin); });
}

void adopt_intercomm(MpiThread& thread, MPI_Comm comm, const char* function, CommState* local,
                     int tag) noexcept {
  if (comm == g_handles.comm_null) return;
  or_nothing([&] {
    CommState sides;
    ask_members(comm, sides);
    const std::uint64_t mine = hash_ranks(sides.members);
    const std::uint64_t theirs = hash_ranks(sides.remote_members);
    CommOrigin origin = group_origin(function, nullptr,
                                     mix(std::min(mine, theirs), std::max(mine, theirs)), tag);
    origin.parent = local;
    adopt_comm(thread, comm, origin);
  });
}

void adopt_connection(MpiThread& thread, MPI_Comm comm, const CommOrigin& origin) noexcept {
  if (comm == g_handles.comm_null) return;
  or_nothing([&] {
    CommState sides;
    ask_members(comm, sides);
    if (sides.foreign_count > 0)
      adopt_comm(thread, comm, origin);
    else
      adopt_intercomm(thread, comm, "connection", origin.parent, 0);
  });
}

void adopt_parent(MpiThread& thread, MPI_Comm comm) noexcept {
  if (comm == g_handles.comm_null) return;
  if (known_comm(comm) != nullptr) return;
  adopt_comm(thread, comm,
             {"MPI_Comm_get_parent", find_comm(g_handles.comm_world),
              hash_text("MPI_Comm_get_parent"), 1});
}

void forget_comm(std::uint64_t key, const CommState& freed) noexcept {
  const std::lock_guard lock(g_mutex);
  const auto found = states().find(key);
  if (found != states().end() && found->second == &freed) states().erase(found);
  g_comm_generation.fetch_add(1, std::memory_order_relaxed);
}

void rename_comm(CommState& state, const char* name) noexcept {
  or_nothing([&] {
    std::string kept(
        name, strnlen(name, MPI_MAX_OBJECT_NAME - 1));  // what MPI keeps of the name. MPI-4.1 §7.8
    const std::lock_guard lock(g_mutex);
    state.name = std::move(kept);
    if (Recorder* active = recorder(); active != nullptr && state.id != kNoComm)
      active->rename_comm(state.id, state.name);
  });
}

}  // namespace megascope::mpi
