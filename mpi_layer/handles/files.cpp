#include "mpi_layer/handles/files.h"

#include "core/base/never_destroyed.h"
#include "mpi_layer/calls/no_memory.h"
#include "mpi_layer/handles/hash.h"
#include "mpi_layer/lookup/pmpi.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace megascope::mpi {

std::atomic<std::uint64_t> g_file_generation{1};

namespace {

constexpr std::size_t kMaxNameBytes = 4096;
constexpr char kUnseenName[] = "(opening not seen)";

std::mutex g_mutex;
std::unordered_map<std::uint64_t, FileState*>& states() {
  static NeverDestroyed<std::unordered_map<std::uint64_t, FileState*>> map;
  return *map;
}
std::unordered_map<std::string, FileId>& names() {
  static NeverDestroyed<std::unordered_map<std::string, FileId>> map;
  return *map;
}
FileId g_next_id = 0;
std::uint32_t g_unseen_count = 0;

std::uint16_t mode_of(int amode) noexcept {
  unsigned mode = kFileModeNone;
  const auto add = [&](int flag, unsigned ours) {
    if ((amode & flag) != 0) mode |= ours;
  };
  add(MPI_MODE_RDONLY, kFileModeRead);
  add(MPI_MODE_WRONLY, kFileModeWrite);
  add(MPI_MODE_RDWR, kFileModeRead | kFileModeWrite);
  add(MPI_MODE_CREATE, kFileModeCreate);
  add(MPI_MODE_EXCL, kFileModeExclusive);
  add(MPI_MODE_DELETE_ON_CLOSE, kFileModeDeleteOnClose);
  add(MPI_MODE_UNIQUE_OPEN, kFileModeUniqueOpen);
  add(MPI_MODE_SEQUENTIAL, kFileModeSequential);
  add(MPI_MODE_APPEND, kFileModeAppend);
  return static_cast<std::uint16_t>(mode);
}

std::string bounded(const char* name) {
  return name != nullptr ? std::string(name, strnlen(name, kMaxNameBytes)) : "";
}

/// Assigns an identifier and defines the file in the trace. Call with the lock held. Returns false
/// if nothing is recorded any more.
bool define(FileDefinition definition, FileId& id) {
  Recorder* active = recorder();
  if (active == nullptr) return false;
  definition.id = g_next_id;
  if (!active->define(definition)) return false;
  id = g_next_id++;
  return true;
}

FileState* publish(MPI_File file, const FileDefinition& definition) {
  auto state = std::make_unique<FileState>();
  state->comm = definition.comm;
  const std::lock_guard lock(g_mutex);
  FileState*& slot = states()[key_of(file)];
  if (!define(definition, state->id)) {
    states().erase(key_of(file));
    return nullptr;
  }
  slot = state.release();
  g_file_generation.fetch_add(1, std::memory_order_release);
  return slot;
}

FileState* find(std::uint64_t key) {
  const std::lock_guard lock(g_mutex);
  const auto found = states().find(key);
  return found != states().end() ? found->second : nullptr;
}

}  // namespace

FileState* file_state_slow_path(MpiThread& thread, MPI_File file) noexcept {
  const std::uint64_t generation = g_file_generation.load(std::memory_order_acquire);
  if (thread.caches.file_generation != generation) {
    for (ThreadCaches::FileSlot& slot : thread.caches.files) slot = {};
    thread.caches.file_generation = generation;
  }
  const std::uint64_t key = key_of(file);
  FileState* state = find(key);
  if (state != nullptr)
    thread.caches.files[(key >> 4 ^ key >> 8) % ThreadCaches::kFileSlots] = {key, state};
  return state;
}

FileState* adopt_file(MPI_File file, CommState& comm, const char* name, int amode) noexcept {
  const std::uint64_t global_name = mix(mix(hash_text("MPI_File_open"), comm.global_name),
                                        comm.file_open_count);
  return or_nothing([&] {
    return publish(file, {.comm = comm.id,
                          .global_name = global_name,
                          .mode = mode_of(amode),
                          .name = bounded(name)});
  });
}

FileState* adopt_unseen_file(MPI_File file) noexcept {
  if (file == g_handles.file_null || file == MPI_File{}) return nullptr;
  int amode = 0;
  pmpi<Fn::File_get_amode>()(file, &amode);
  MPI_Group group = g_handles.group_null;
  pmpi<Fn::File_get_group>()(file, &group);
  const std::uint64_t members = hash_of_members(group);
  pmpi<Fn::Group_free>()(&group);
  const std::uint64_t global_name = mix(mix(hash_text(kUnseenName), members), g_unseen_count++);
  return or_nothing([&] {
    return publish(file, {.global_name = global_name, .mode = mode_of(amode), .name = kUnseenName});
  });
}

void forget_file(std::uint64_t key, const FileState& closed) noexcept {
  const std::lock_guard lock(g_mutex);
  const auto found = states().find(key);
  if (found != states().end() && found->second == &closed) states().erase(found);
  g_file_generation.fetch_add(1, std::memory_order_release);
}

FileId file_by_name(const char* name) noexcept {
  FileId id = kNoFile;
  or_nothing([&] {
    const std::string text = bounded(name);
    const std::lock_guard lock(g_mutex);
    const auto [found, is_new] = names().emplace(text, kNoFile);
    if (found->second == kNoFile)
      (void)define({.global_name = hash_text(text.c_str()), .name = text}, found->second);
    id = found->second;
  });
  return id;
}

}  // namespace megascope::mpi
