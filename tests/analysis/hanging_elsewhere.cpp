#include "tests/analysis/hanging.h"

#include <array>
#include <vector>

// Programs that hang in windows, files and other worlds.
namespace megascope::hanging {
namespace {

MPI_Win window(MPI_Comm comm, const char* name) {
  int* memory = nullptr;
  MPI_Win made;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, static_cast<void*>(&memory),
                   &made);
  if (name != nullptr) MPI_Win_set_name(made, name);
  return made;
}

MPI_Group group_of(const std::vector<int>& ranks) {
  MPI_Group world;
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  return group;
}

MPI_File file(int mode = MPI_MODE_CREATE | MPI_MODE_RDWR) {
  MPI_File opened;
  MPI_File_open(MPI_COMM_WORLD, "data", mode, MPI_INFO_NULL, &opened);
  return opened;
}

/// 17 fences of the second window; the last rank does not come to the next.
void fence_missing() {
  window(MPI_COMM_WORLD, nullptr);
  const MPI_Win halo = window(MPI_COMM_WORLD, "halo");
  for (int i = 0; i < 17; ++i) MPI_Win_fence(0, halo);
  if (is_last()) return receive(0, 1);
  ready();
  MPI_Win_fence(0, halo);
}

/// The last rank frees it instead. The library may take that for the fence.
void fence_and_free() {
  window(MPI_COMM_WORLD, nullptr);
  MPI_Win halo = window(MPI_COMM_WORLD, "halo");
  for (int i = 0; i < 17; ++i) MPI_Win_fence(0, halo);
  ready();
  if (!is_last()) {
    MPI_Win_fence(0, halo);
    sleep_on();
  }
  MPI_Win_free(&halo);
  sleep_on();
}

void window_made_by_some() {
  const MPI_Comm dp = copy("dp");
  MPI_Barrier(dp);
  ready();
  if (is_last())
    MPI_Barrier(dp);
  else
    window(dp, nullptr);
  sleep_on();
}

/// Ranks 0 and 1 free their windows in different order.
void freed_crosswise() {
  std::array<MPI_Win, 2> windows = {window(MPI_COMM_WORLD, "first"),
                                    window(MPI_COMM_WORLD, "second")};
  ready();
  MPI_Win_free(&windows[static_cast<std::size_t>(g_rank)]);
  sleep_on();
}

/// Each begins an access before it lets the other one.
void starts_before_posts() {
  const MPI_Win halo = window(MPI_COMM_WORLD, "halo");
  const MPI_Group other = group_of({1 - g_rank});
  for (int i = 0; i < 2; ++i) {
    MPI_Win_post(other, 0, halo);
    MPI_Win_start(other, 0, halo);
    MPI_Win_complete(halo);
    MPI_Win_wait(halo);
  }
  ready();
  MPI_Win_start(other, 0, halo);
  MPI_Put(&g_value, 1, MPI_INT, 1 - g_rank, 0, 1, MPI_INT, halo);
  MPI_Win_complete(halo);
  sleep_on();
}

/// Rank 1 has posted, rank 2 waits for a message of rank 0.
void post_missing() {
  const MPI_Win halo = window(MPI_COMM_WORLD, "halo");
  const MPI_Group targets = group_of({1, 2});
  const MPI_Group origin = group_of({0});
  if (g_rank == 1) MPI_Win_post(origin, 0, halo);
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) linger();
  if (g_rank == 2) return receive(0, 1);
  ready();
  MPI_Win_start(targets, 0, halo);
  MPI_Win_complete(halo);
  sleep_on();
}

/// Rank 1 has completed, rank 2 waits for a message of rank 0.
void complete_missing() {
  const MPI_Win halo = window(MPI_COMM_WORLD, "halo");
  if (g_rank == 0) {
    MPI_Win_post(group_of({1, 2}), 0, halo);
    ready();
    MPI_Win_wait(halo);
    sleep_on();
  }
  MPI_Win_start(group_of({0}), 0, halo);
  if (g_rank == 2) return receive(0, 1);
  MPI_Win_complete(halo);
  linger();
}

/// Rank 1 has the lock of rank 2's part, which rank 0 wants, for a message of which rank 1 waits.
void lock_held() {
  const MPI_Win halo = window(MPI_COMM_WORLD, "halo");
  if (g_rank == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, halo);
    MPI_Put(&g_value, 1, MPI_INT, 2, 0, 1, MPI_INT, halo);
    MPI_Win_flush(2, halo);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) return receive(0, 1);
  if (g_rank == 2) {
    ready();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ready();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, halo);
  MPI_Put(&g_value, 1, MPI_INT, 2, 0, 1, MPI_INT, halo);
  MPI_Win_unlock(2, halo);
  sleep_on();
}

/// One rank does not come to the end of the file.
void file_not_closed() {
  MPI_File data = file();
  MPI_File_write_at_all(data, g_rank * 4, &g_value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_set_view(data, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_all_begin(data, &g_value, 1, MPI_INT);
  MPI_File_write_all_end(data, &g_value, MPI_STATUS_IGNORE);
  MPI_Request request;
  MPI_File_iwrite_at_all(data, 0, &g_value, 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (is_last()) return receive(0, 1);
  ready();
  MPI_File_close(&data);
  sleep_on();
}

/// The last rank does something else with the file.
void file_other() {
  MPI_File data = file();
  ready();
  if (is_last())
    MPI_File_set_size(data, 100);
  else
    MPI_File_sync(data);
  sleep_on();
}

void file_not_opened() {
  MPI_Barrier(MPI_COMM_WORLD);
  ready();
  if (is_last())
    MPI_Barrier(MPI_COMM_WORLD);
  else
    file();
  sleep_on();
}

/// Ends in good order, though the last rank writes by another function.
void file_uneven() {
  MPI_File data = file();
  MPI_File_set_size(data, 4096);
  const MPI_Offset at = g_rank * 4;
  MPI_File_seek(data, at, MPI_SEEK_SET);
  if (is_last())
    MPI_File_write_at_all(data, at, &g_value, 1, MPI_INT, MPI_STATUS_IGNORE);
  else
    MPI_File_write_all(data, &g_value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&data);
}

void none_connects() {
  std::array<char, MPI_MAX_PORT_NAME> port{};
  if (g_rank == 0) MPI_Open_port(MPI_INFO_NULL, port.data());
  ready();
  MPI_Comm other;
  MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
}

/// A world that starts another; each waits for a message of the other's.
void worlds() {
  MPI_Comm other;
  MPI_Comm_get_parent(&other);
  if (other == MPI_COMM_NULL) {
    std::string mode = "worlds";
    std::array<char*, 2> arguments = {mode.data(), nullptr};
    MPI_Comm_spawn(std::getenv("HANGING_PROGRAM"), arguments.data(), 1, MPI_INFO_NULL, 0,
                   MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  }
  receive(0, 1, other);
}

constexpr std::array kModes = {Mode{"fence-missing", fence_missing},
                               Mode{"fence-and-free", fence_and_free},
                               Mode{"window-made-by-some", window_made_by_some},
                               Mode{"freed-crosswise", freed_crosswise},
                               Mode{"starts-before-posts", starts_before_posts},
                               Mode{"post-missing", post_missing},
                               Mode{"complete-missing", complete_missing},
                               Mode{"lock-held", lock_held},
                               Mode{"file-not-closed", file_not_closed},
                               Mode{"file-other", file_other},
                               Mode{"file-not-opened", file_not_opened},
                               Mode{"file-uneven", file_uneven},
                               Mode{"none-connects", none_connects},
                               Mode{"worlds", worlds}};

}  // namespace

std::span<const Mode> modes_elsewhere() { return kModes; }

}  // namespace megascope::hanging
