#include "tests/sanitize/parts.h"

#include <array>
#include <atomic>
#include <thread>

namespace megascope::sanitize {
namespace {

constexpr int kElements = 64;
constexpr int kRounds = 200;

/// Memory that MPI provides: also where threads are in MPI, Open MPI has windows of that.
MPI_Win make_window(Ledger& ledger, MPI_Comm comm) {
  MPI_Win window = MPI_WIN_NULL;
  int* memory = nullptr;
  CALL(ledger, Win_allocate, kElements * static_cast<MPI_Aint>(sizeof(int)), sizeof(int),
       MPI_INFO_NULL, comm, static_cast<void*>(&memory), &window);
  return window;
}

void access_between_fences(Ledger& ledger, Place place, MPI_Win window) {
  std::array<int, 8> out{};
  std::array<int, 8> in{};
  CALL(ledger, Win_fence, MPI_MODE_NOPRECEDE, window);
  for (int i = 0; i < kRounds; ++i) {
    CALL(ledger, Put, out.data(), i % 9, MPI_INT, place.right(), 0, i % 9, MPI_INT, window);
    CALL(ledger, Get, in.data(), 1, MPI_INT, place.right(), 9, 1, MPI_INT, window);
    CALL(ledger, Accumulate, out.data(), 2, MPI_INT, place.right(), 10, 2, MPI_INT, MPI_SUM,
         window);
  }
  CALL(ledger, Put, out.data(), 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window);
  CALL(ledger, Win_fence, 0, window);
}

void access_in_a_group(Ledger& ledger, Place place, MPI_Win window) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group origins = MPI_GROUP_NULL;
  MPI_Group targets = MPI_GROUP_NULL;
  const int left = place.left();
  const int right = place.right();
  int flag = 0;
  CALL(ledger, Comm_group, MPI_COMM_WORLD, &world);
  CALL(ledger, Group_incl, world, 1, &left, &origins);
  CALL(ledger, Group_incl, world, 1, &right, &targets);
  for (int i = 0; i < 3; ++i) {
    CALL(ledger, Win_post, origins, 0, window);
    CALL(ledger, Win_start, targets, 0, window);
    CALL(ledger, Put, &i, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    CALL(ledger, Win_complete, window);
    if (i == 0)
      CALL(ledger, Win_wait, window);
    else
      for (flag = 0; flag == 0;) CALL(ledger, Win_test, window, &flag);
  }
  for (MPI_Group* group : {&world, &origins, &targets}) CALL(ledger, Group_free, group);
}

/// All that is done under a lock of everybody, by one thread or several at once.
void access_locked(Ledger& ledger, Place place, MPI_Win window, int element) {
  int value = 1;
  int result = 0;
  const int none = 0;
  std::array<MPI_Request, 4> requests;
  for (int i = 0; i < kRounds; ++i) {
    CALL(ledger, Rput, &value, 1, MPI_INT, place.right(), element, 1, MPI_INT, window,
         &requests[0]);
    CALL(ledger, Rget, &result, 1, MPI_INT, place.right(), element, 1, MPI_INT, window,
         &requests[1]);
    CALL(ledger, Waitall, 2, requests.data(), MPI_STATUSES_IGNORE);
    CALL(ledger, Raccumulate, &value, 1, MPI_INT, place.right(), element, 1, MPI_INT, MPI_SUM,
         window, &requests[2]);
    CALL(ledger, Wait, &requests[2], MPI_STATUS_IGNORE);
    CALL(ledger, Rget_accumulate, &value, 1, MPI_INT, &result, 1, MPI_INT, place.right(), element,
         1, MPI_INT, MPI_SUM, window, &requests[3]);
    for (int flag = 0; flag == 0;) CALL(ledger, Test, &requests[3], &flag, MPI_STATUS_IGNORE);
    CALL(ledger, Fetch_and_op, &value, &result, MPI_INT, place.right(), element, MPI_NO_OP, window);
    CALL(ledger, Win_flush_local, place.right(), window);
    CALL(ledger, Compare_and_swap, &value, &none, &result, MPI_INT, place.right(), element, window);
    CALL(ledger, Win_flush, place.right(), window);
  }
}

}  // namespace

void use_windows(Ledger& ledger, Place place, MPI_Comm comm) {
  MPI_Win window = make_window(ledger, comm);
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  CALL(ledger, Win_set_name, window, "window of the sanitizers");
  CALL(ledger, Win_get_name, window, name.data(), &length);
  access_between_fences(ledger, place, window);
  access_in_a_group(ledger, place, window);
  CALL(ledger, Win_lock_all, 0, window);
  access_locked(ledger, place, window, 20);
  CALL(ledger, Win_flush_all, window);
  CALL(ledger, Win_sync, window);
  CALL(ledger, Win_unlock_all, window);
  CALL(ledger, Win_set_errhandler, window, MPI_ERRORS_RETURN);
  CALL(ledger, Put, &length, 1, MPI_INT, place.size, 0, 1, MPI_INT, window);
  CALL(ledger, Win_free, &window);
}

void use_windows_in_threads(Ledger& ledger, Place place) {
  MPI_Win shared = make_window(ledger, MPI_COMM_WORLD);
  std::array<Ledger, 2> ledgers;
  CALL(ledger, Win_lock_all, 0, shared);
  {
    std::thread first([&] { access_locked(ledgers[0], place, shared, 1); });
    std::thread second([&] { access_locked(ledgers[1], place, shared, 2); });
    for (int i = 0; i < kRounds / 10; ++i) {  // windows of one process come and go beside
      MPI_Win alone = make_window(ledger, MPI_COMM_SELF);
      CALL(ledger, Win_fence, 0, alone);
      CALL(ledger, Put, &i, 1, MPI_INT, 0, 0, 1, MPI_INT, alone);
      CALL(ledger, Win_fence, 0, alone);
      CALL(ledger, Win_free, &alone);
    }
    first.join();
    second.join();
  }
  for (const Ledger& other : ledgers) ledger.merge(other);
  CALL(ledger, Win_unlock_all, shared);
  CALL(ledger, Win_free, &shared);
}

}  // namespace megascope::sanitize
