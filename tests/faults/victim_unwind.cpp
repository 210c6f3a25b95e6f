#include "tests/faults/victim.h"

#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>

/// Modes that leave an MPI call other than by its return: from an error handler, which MPI calls
/// inside of the call.
namespace megascope::faults::victim {
namespace {

std::jmp_buf g_back;
std::atomic<int> g_is_inside{0};

/// A call of the application's, made inside of another one: it is recorded, and returns before the
/// other is left.
void ask_for_text(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  g_ledger->returned(Ledger::kErrorString);
}

void throw_it(MPI_Comm*, int* code, ...) {
  ask_for_text(*code);
  throw std::runtime_error("from a handler");
}

void jump_out(MPI_Comm*, int* code, ...) {
  ask_for_text(*code);
  std::longjmp(g_back, 1);
}

void wait_for_cancel(MPI_Comm*, int*, ...) {
  g_is_inside = 1;
  for (int i = 0; i < 5000; ++i) {
    pthread_testcancel();
    usleep(1000);
  }
}

void spin_for_cancel(MPI_Comm*, int*, ...) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  g_is_inside = 1;
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << 34); ++i) asm volatile("");
}

void set_handler(MPI_Comm_errhandler_function* handler) {
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(handler, &errhandler);
  g_ledger->returned(Ledger::kErrhandler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
  g_ledger->returned(Ledger::kSetErrhandler);
}

/// A receive with a rank that does not exist: the handler is called, the call does not return.
void fail(bool is_booked = true) {
  int value = 0;
  if (is_booked) g_ledger->returned(Ledger::kRecvLeft);
  MPI_Recv(&value, 1, MPI_INT, /*source=*/5, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/// From deeper in the stack than the call that was left.
[[gnu::noinline]] void calls_from_below(int depth) {
  volatile char space[2000];
  space[0] = static_cast<char>(depth);
  if (depth > 0)
    calls_from_below(depth - 1);
  else
    mixed_calls(5);
  space[1] = space[0];
}

int throw_through() {
  init();
  set_handler(throw_it);
  int caught = 0;
  for (int i = 0; i < 50; ++i) {
    try {
      fail();
    } catch (const std::runtime_error&) {
      ++caught;
    }
    if (i % 2 == 0)
      mixed_calls(2);
    else if (i < 49)
      calls_from_below(4);  // after the last one only MPI_Finalize is called
  }
  std::printf("caught %d\n", caught);
  finalize();
  return 0;
}

int jump_through() {
  init();
  set_handler(jump_out);
  static int jumps = 0;
  static int i = 0;  // not in a register that longjmp would restore
  for (i = 0; i < 50; ++i) {
    if (setjmp(g_back) == 0)
      fail();
    else
      ++jumps;
    if (i % 2 == 0)
      mixed_calls(2);
    else if (i < 49)
      calls_from_below(4);
  }
  std::printf("jumped %d\n", jumps);
  finalize();
  return 0;
}

/// Threads are cancelled inside of a call, one after the other.
int cancel_inside(MPI_Comm_errhandler_function* handler) {
  init(MPI_THREAD_MULTIPLE);
  set_handler(handler);
  int cancelled = 0;
  for (int i = 0; i < 5; ++i) {
    g_is_inside = 0;
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          fail(/*is_booked=*/false);
          return nullptr;
        },
        nullptr);
    for (int tries = 0; tries < 5000 && g_is_inside == 0; ++tries) usleep(1000);
    usleep(2000);  // well inside its loop
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
    mixed_calls(5);
  }
  std::printf("cancelled %d\n", cancelled);
  finalize();
  return 0;
}

/// A thread that is to be cancelled calls what has no cancellation point, through many chunks of a
/// trace.
int cancel_between() {
  init(MPI_THREAD_MULTIPLE);
  pthread_t thread{};
  const auto call = [](void*) -> void* {
    pthread_cancel(pthread_self());
    int rank = 0;
    for (int i = 0; i < 100'000; ++i) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_testcancel();
    return nullptr;
  };
  pthread_create(&thread, nullptr, call, nullptr);
  void* result = nullptr;
  pthread_join(thread, &result);
  std::printf("cancelled %d\n", result == PTHREAD_CANCELED);
  finalize();
  return 0;
}

}  // namespace

int run_unwind_mode(std::string_view mode) {
  if (mode == "throw") return throw_through();
  if (mode == "longjmp") return jump_through();
  if (mode == "cancel") return cancel_inside(wait_for_cancel);
  if (mode == "cancel-at-once") return cancel_inside(spin_for_cancel);
  if (mode == "cancel-between") return cancel_between();
  return -1;
}

}  // namespace megascope::faults::victim
