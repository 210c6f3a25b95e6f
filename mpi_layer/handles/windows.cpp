#include "mpi_layer/handles/windows.h"

#include "core/base/never_destroyed.h"
#include "mpi_layer/calls/no_memory.h"
#include "mpi_layer/handles/hash.h"
#include "mpi_layer/lookup/pmpi.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace megascope::mpi {

std::atomic<std::uint64_t> g_window_generation{1};
std::atomic<std::uint64_t> g_group_generation{1};

namespace {

std::mutex g_mutex;
std::unordered_map<std::uint64_t, WinState*>& states() {
  static NeverDestroyed<std::unordered_map<std::uint64_t, WinState*>> map;
  return *map;
}
std::map<std::vector<std::int32_t>, GroupId>& groups() {
  static NeverDestroyed<std::map<std::vector<std::int32_t>, GroupId>> map;
  return *map;
}
WinId g_next_id = 0;

WinState* publish(MPI_Win window, CommState& comm, WindowDefinition definition) {
  Recorder* active = recorder();
  if (active == nullptr) return nullptr;
  auto state = std::make_unique<WinState>();
  state->comm = &comm;
  const std::lock_guard lock(g_mutex);
  WinState*& slot = states()[key_of(window)];
  slot = state.get();
  g_window_generation.fetch_add(1, std::memory_order_relaxed);
  if (comm.is_recorded) {
    definition.id = g_next_id;
    definition.comm = comm.id;
    if (active->define(definition)) state->id = g_next_id++;
  }
  return state.release();
}

template <class Value>
Value attribute(MPI_Win window, int keyval, Value otherwise) {
  void* value = nullptr;
  int is_set = 0;
  pmpi<Fn::Win_get_attr>()(window, keyval, static_cast<void*>(&value), &is_set);
  return is_set != 0 && value != nullptr ? *static_cast<const Value*>(value) : otherwise;
}

WindowFlavor flavor_of(int mpi_flavor) {
  switch (mpi_flavor) {
    case MPI_WIN_FLAVOR_ALLOCATE:
      return WindowFlavor::kAllocate;
    case MPI_WIN_FLAVOR_DYNAMIC:
      return WindowFlavor::kDynamic;
    case MPI_WIN_FLAVOR_SHARED:
      return WindowFlavor::kShared;
    default:
      return WindowFlavor::kCreate;
  }
}

}  // namespace

WinState* window_state_slow_path(MpiThread& thread, MPI_Win window) noexcept {
  const std::uint64_t key = key_of(window);
  // Read before the table: handles freed meanwhile are looked up again.
  const std::uint64_t generation = g_window_generation.load(std::memory_order_relaxed);
  WinState* state = nullptr;
  {
    const std::lock_guard lock(g_mutex);
    const auto found = states().find(key);
    if (found == states().end()) return nullptr;
    state = found->second;
  }
  if (thread.caches.window_generation != generation) {
    for (ThreadCaches::WinSlot& slot : thread.caches.windows) slot = {};
    thread.caches.window_generation = generation;
  }
  thread.caches.windows[comm_slot(key) % ThreadCaches::kWindowSlots] = {key, state};
  return state;
}

WinState* adopt_window(MPI_Win window, CommState& comm, std::uint32_t ordinal,
                       const WindowMaking& making) noexcept {
  return or_nothing([&] {
    WindowDefinition definition;
    definition.global_name = mix(mix(hash_text("window"), comm.global_name), ordinal);
    definition.flavor = making.flavor;
    definition.size_bytes = making.size_bytes;
    definition.displacement_bytes = making.displacement_bytes;
    definition.name = std::string(making.function) + " #" + std::to_string(ordinal + 1) + " of " +
                      comm.name;
    return publish(window, comm, std::move(definition));
  });
}

WinState* learn_window(MPI_Win window) noexcept {
  if (window == g_handles.win_null || window == MPI_Win{}) return nullptr;
  MPI_Group group;
  if (pmpi<Fn::Win_get_group>()(window, &group) != MPI_SUCCESS) return nullptr;
  CommState* const found = comm_of_unseen(group);
  pmpi<Fn::Group_free>()(&group);
  if (found == nullptr) return nullptr;
  CommState& comm = *found;
  std::uint32_t ordinal = 0;
  {
    const std::lock_guard lock(g_mutex);
    ordinal = comm.unseen_window_count++;
  }
  return or_nothing([&] {
    WindowDefinition definition;
    definition.global_name = mix(mix(hash_text("unseen window"), comm.global_name), ordinal);
    definition.flavor = flavor_of(
        attribute<int>(window, MPI_WIN_CREATE_FLAVOR, MPI_WIN_FLAVOR_CREATE));
    definition.size_bytes = static_cast<std::uint64_t>(
        attribute<MPI_Aint>(window, MPI_WIN_SIZE, 0));
    definition.displacement_bytes = static_cast<std::uint32_t>(
        attribute<int>(window, MPI_WIN_DISP_UNIT, 1));
    definition.name = "unknown origin #" + std::to_string(ordinal + 1) + " of " + comm.name;
    return publish(window, comm, std::move(definition));
  });
}

void forget_window(std::uint64_t key, const WinState& freed) noexcept {
  const std::lock_guard lock(g_mutex);
  const auto found = states().find(key);
  if (found != states().end() && found->second == &freed) states().erase(found);
  g_window_generation.fetch_add(1, std::memory_order_relaxed);
}

void rename_window(const WinState& state, const char* name) noexcept {
  Recorder* active = recorder();
  if (active == nullptr || state.id == kNoWin) return;
  or_nothing([&] {
    active->rename_window(state.id, std::string(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1)));
  });  // what MPI keeps of the name. MPI-4.1 §7.8
}

namespace {

GroupId learn_group(MPI_Group group) {
  int size = 0;
  pmpi<Fn::Group_size>()(group, &size);
  const std::vector<std::int32_t> members = world_ranks_of(group);
  Recorder* active = recorder();
  if (active == nullptr || members.size() != static_cast<std::size_t>(size)) return kNoGroup;
  const std::lock_guard lock(g_mutex);
  const auto [found, is_new] = groups().emplace(members, static_cast<GroupId>(groups().size()));
  if (!is_new) return found->second;
  const bool is_defined = or_nothing([&, id = found->second] {
    return active->define(GroupDefinition{.id = id, .members = compress(members)});
  });
  if (is_defined) return found->second;
  groups().erase(found);
  return kNoGroup;
}

}  // namespace

GroupId group_id(MpiThread& thread, MPI_Group group) noexcept {
  if (group == g_handles.group_null || group == MPI_Group{})
    return kNoGroup;  // MPI will report the error
  const std::uint64_t generation = g_group_generation.load(std::memory_order_relaxed);
  ThreadCaches::GroupSlot& slot = thread.caches.group;
  if (slot.key == key_of(group) && slot.generation == generation) return slot.id;
  GroupId id = kNoGroup;
  or_nothing([&] {
    id = learn_group(group);
    slot = {key_of(group), generation, id};
  });
  return id;
}

}  // namespace megascope::mpi
