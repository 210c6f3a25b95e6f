#include "tests/sanitize/parts.h"

#include <array>
#include <atomic>
#include <thread>

namespace megascope::sanitize {
namespace {

constexpr int kElements = 64;
constexpr int kRounds = 200;

/// Memory that MPI provides: also where threads are in MPI, Open MPI has windows of that.
MPI_Win make_window(Book& book, MPI_Comm comm) {
  MPI_Win window = MPI_WIN_NULL;
  int* memory = nullptr;
  CALL(book, Win_allocate, kElements * static_cast<MPI_Aint>(sizeof(int)), sizeof(int),
       MPI_INFO_NULL, comm, static_cast<void*>(&memory), &window);
  return window;
}

void access_between_fences(Book& book, Place place, MPI_Win window) {
  std::array<int, 8> out{};
  std::array<int, 8> in{};
  CALL(book, Win_fence, MPI_MODE_NOPRECEDE, window);
  for (int i = 0; i < kRounds; ++i) {
    CALL(book, Put, out.data(), i % 9, MPI_INT, place.right(), 0, i % 9, MPI_INT, window);
    CALL(book, Get, in.data(), 1, MPI_INT, place.right(), 9, 1, MPI_INT, window);
    CALL(book, Accumulate, out.data(), 2, MPI_INT, place.right(), 10, 2, MPI_INT, MPI_SUM, window);
  }
  CALL(book, Put, out.data(), 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window);
  CALL(book, Win_fence, 0, window);
}

void access_in_a_group(Book& book, Place place, MPI_Win window) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group origins = MPI_GROUP_NULL;
  MPI_Group targets = MPI_GROUP_NULL;
  const int left = place.left();
  const int right = place.right();
  int flag = 0;
  CALL(book, Comm_group, MPI_COMM_WORLD, &world);
  CALL(book, Group_incl, world, 1, &left, &origins);
  CALL(book, Group_incl, world, 1, &right, &targets);
  for (int i = 0; i < 3; ++i) {
    CALL(book, Win_post, origins, 0, window);
    CALL(book, Win_start, targets, 0, window);
    CALL(book, Put, &i, 1, MPI_INT, right, 0, 1, MPI_INT, window);
    CALL(book, Win_complete, window);
    if (i == 0)
      CALL(book, Win_wait, window);
    else
      for (flag = 0; flag == 0;) CALL(book, Win_test, window, &flag);
  }
  for (MPI_Group* group : {&world, &origins, &targets}) CALL(book, Group_free, group);
}

/// All that is done under a lock of everybody, by one thread or several at once.
void access_locked(Book& book, Place place, MPI_Win window, int element) {
  int value = 1;
  int result = 0;
  const int none = 0;
  std::array<MPI_Request, 4> requests;
  for (int i = 0; i < kRounds; ++i) {
    CALL(book, Rput, &value, 1, MPI_INT, place.right(), element, 1, MPI_INT, window, &requests[0]);
    CALL(book, Rget, &result, 1, MPI_INT, place.right(), element, 1, MPI_INT, window, &requests[1]);
    CALL(book, Waitall, 2, requests.data(), MPI_STATUSES_IGNORE);
    CALL(book, Raccumulate, &value, 1, MPI_INT, place.right(), element, 1, MPI_INT, MPI_SUM, window,
         &requests[2]);
    CALL(book, Wait, &requests[2], MPI_STATUS_IGNORE);
    CALL(book, Rget_accumulate, &value, 1, MPI_INT, &result, 1, MPI_INT, place.right(), element, 1,
         MPI_INT, MPI_SUM, window, &requests[3]);
    for (int flag = 0; flag == 0;) CALL(book, Test, &requests[3], &flag, MPI_STATUS_IGNORE);
    CALL(book, Fetch_and_op, &value, &result, MPI_INT, place.right(), element, MPI_NO_OP, window);
    CALL(book, Win_flush_local, place.right(), window);
    CALL(book, Compare_and_swap, &value, &none, &result, MPI_INT, place.right(), element, window);
    CALL(book, Win_flush, place.right(), window);
  }
}

}  // namespace

void use_windows(Book& book, Place place, MPI_Comm comm) {
  MPI_Win window = make_window(book, comm);
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  CALL(book, Win_set_name, window, "window of the sanitizers");
  CALL(book, Win_get_name, window, name.data(), &length);
  access_between_fences(book, place, window);
  access_in_a_group(book, place, window);
  CALL(book, Win_lock_all, 0, window);
  access_locked(book, place, window, 20);
  CALL(book, Win_flush_all, window);
  CALL(book, Win_sync, window);
  CALL(book, Win_unlock_all, window);
  CALL(book, Win_set_errhandler, window, MPI_ERRORS_RETURN);
  CALL(book, Put, &length, 1, MPI_INT, place.size, 0, 1, MPI_INT, window);
  CALL(book, Win_free, &window);
}

void use_windows_in_threads(Book& book, Place place) {
  MPI_Win shared = make_window(book, MPI_COMM_WORLD);
  std::array<Book, 2> books;
  CALL(book, Win_lock_all, 0, shared);
  {
    std::thread first([&] { access_locked(books[0], place, shared, 1); });
    std::thread second([&] { access_locked(books[1], place, shared, 2); });
    for (int i = 0; i < kRounds / 10; ++i) {  // windows of one process come and go beside
      MPI_Win alone = make_window(book, MPI_COMM_SELF);
      CALL(book, Win_fence, 0, alone);
      CALL(book, Put, &i, 1, MPI_INT, 0, 0, 1, MPI_INT, alone);
      CALL(book, Win_fence, 0, alone);
      CALL(book, Win_free, &alone);
    }
    first.join();
    second.join();
  }
  for (const Book& other : books) book.merge(other);
  CALL(book, Win_unlock_all, shared);
  CALL(book, Win_free, &shared);
}

}  // namespace megascope::sanitize
