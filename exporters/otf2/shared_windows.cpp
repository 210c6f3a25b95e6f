#include "exporters/otf2/shared_windows.h"

#include "core/base/hash.h"
#include "exporters/otf2/rank_runs.h"

#include <unordered_set>
#include <utility>

namespace megascope::otf2 {
namespace {

constexpr std::uint64_t kGroupSeed = 3;

using Ids = std::unordered_map<std::uint64_t, std::uint32_t>;

/// 0: the definition is invalid. MPI_COMM_SELF is one communicator in OTF2, but its windows have a
/// different global name in each process.
std::uint64_t key_of(const WindowDefinition& window, const std::vector<std::uint64_t>& comm_keys) {
  if (window.comm >= comm_keys.size() || comm_keys[window.comm] == 0) return 0;
  return not_zero(combined(comm_keys[window.comm], window.global_name));
}

std::uint64_t key_of(const GroupDefinition& group, std::int32_t world_size) {
  if (!are_ranks(group.members, world_size)) return 0;
  return not_zero(combined_ranks(kGroupSeed, group.members));
}

template <class Shared>
void merge_by_key(std::vector<Shared>& mine, std::vector<Shared>& theirs) {
  std::unordered_set<std::uint64_t> keys;
  for (const Shared& shared : mine) keys.insert(shared.key);
  for (Shared& shared : theirs) {
    if (keys.insert(shared.key).second) mine.push_back(std::move(shared));
  }
}

template <class Shared>
void put_keys(ByteWriter& to, const std::vector<Shared>& all) {
  to.put_u64(all.size());
  for (const Shared& shared : all) to.put_u64(shared.key);
}

Ids get_ids(ByteReader& from, std::uint32_t first) {
  Ids ids;
  const std::size_t count = from.count();
  for (std::uint32_t i = 0; i < count; ++i) ids.emplace(from.u64(), first + i);
  return ids;
}

std::uint32_t id_of(const Ids& ids, std::uint64_t key) {
  const auto found = ids.find(key);
  return found == ids.end() ? ProcessWindows::kUndefined : found->second;
}

}  // namespace

SharedWindows collect_windows(const ProcessDefinitions& process,
                              const std::vector<std::uint64_t>& comm_keys,
                              std::int32_t world_size) {
  SharedWindows all;
  for (const WindowDefinition& window : process.windows) {
    const std::uint64_t key = key_of(window, comm_keys);
    if (key != 0)
      all.windows.push_back({.key = key, .comm_key = comm_keys[window.comm], .name = window.name});
  }
  for (const GroupDefinition& group : process.groups) {
    const std::uint64_t key = key_of(group, world_size);
    if (key != 0) all.groups.push_back({.key = key, .members = compress(expand(group.members))});
  }
  return all;
}

void merge_windows(SharedWindows& mine, SharedWindows theirs) {
  merge_by_key(mine.windows, theirs.windows);
  merge_by_key(mine.groups, theirs.groups);
}

void put_windows(ByteWriter& to, const SharedWindows& windows) {
  to.put_u64(windows.windows.size());
  for (const SharedWindow& window : windows.windows) {
    to.put_u64(window.key);
    to.put_u64(window.comm_key);
    to.put_text(window.name);
  }
  to.put_u64(windows.groups.size());
  for (const SharedGroup& group : windows.groups) {
    to.put_u64(group.key);
    put_runs(to, group.members);
  }
}

SharedWindows get_windows(ByteReader& from) {
  SharedWindows all;
  all.windows.resize(from.count());
  for (SharedWindow& window : all.windows) {
    window.key = from.u64();
    window.comm_key = from.u64();
    window.name = from.text();
  }
  all.groups.resize(from.count());
  for (SharedGroup& group : all.groups) {
    group.key = from.u64();
    group.members = get_runs(from);
  }
  return all;
}

void put_window_keys(ByteWriter& to, const SharedWindows& windows) {
  put_keys(to, windows.windows);
  put_keys(to, windows.groups);
}

WindowIds get_window_ids(ByteReader& from) {
  WindowIds ids;
  ids.windows = get_ids(from, 0);
  ids.groups = get_ids(from, kFirstGroup);
  return ids;
}

ProcessWindows::ProcessWindows(const ProcessDefinitions& process,
                               const std::vector<std::uint64_t>& comm_keys, std::int32_t world_size,
                               const WindowIds& ids) {
  for (const WindowDefinition& window : process.windows) {
    windows_.push_back(id_of(ids.windows, key_of(window, comm_keys)));
    is_allocated_.push_back(window.flavor == WindowFlavor::kAllocate ||
                            window.flavor == WindowFlavor::kShared);
  }
  for (const GroupDefinition& group : process.groups)
    groups_.push_back(id_of(ids.groups, key_of(group, world_size)));
  for (const CommDefinition& comm : process.comms)
    my_ranks_.push_back(static_cast<std::uint32_t>(comm.my_rank));
}

}  // namespace megascope::otf2
