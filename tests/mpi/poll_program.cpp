// Polls a generalized request until it completes. Prints, for each request, the number of calls of
// MPI_Test and the times (CLOCK_MONOTONIC, ns) around the last one, which finds it complete:
//   REQUEST POLLS BEFORE AFTER
//
//   poll_program transfer         the last test takes 40 ms
//   poll_program work             the program computes for 40 ms before the last test
//                                 (10 requests each)
//   poll_program dense            nothing lies between the tests; 200 requests
//   poll_program bursts           the program computes for 1 ms after each 30 tests; 40 requests
//   poll_program killed FILE      ends itself by SIGKILL at any moment of a series; FILE receives
//   the
//                                 number of tests that have returned

#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr long kLongNs = 40'000'000;

long now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void compute(long time_ns) {
  for (const long end_ns = now_ns() + time_ns; now_ns() < end_ns;) {
  }
}

/// PMPI_ in callbacks and where a request completes: a recorded call would end the series.
int query(void* time_ns, MPI_Status* status) {
  compute(*static_cast<const long*>(time_ns));
  PMPI_Status_set_elements(status, MPI_INT, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int release(void*) { return MPI_SUCCESS; }
int cancel(void*, int) { return MPI_SUCCESS; }

void poll_request(int number, long bursts, long polls, long between_ns, long inside_ns) {
  MPI_Request request;
  MPI_Grequest_start(query, release, cancel, &inside_ns, &request);
  int flag = 0;
  for (long burst = 0; burst < bursts; ++burst) {
    for (long i = 0; i < polls; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (between_ns != 0) compute(between_ns);
  }
  PMPI_Grequest_complete(request);
  const long before_ns = now_ns();
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  const long after_ns = now_ns();
  if (flag == 0) std::abort();
  std::printf("%d %ld %ld %ld\n", number, bursts * polls + 1, before_ns, after_ns);
}

volatile sig_atomic_t g_returned = 0;
int g_file = -1;

void end(int) {
  char text[16];
  int length = 0;
  for (int rest = g_returned; rest != 0; rest /= 10)
    text[length++] = static_cast<char>('0' + rest % 10);
  for (int i = length; i > 0; --i) {
    if (write(g_file, text + i - 1, 1) != 1) _exit(2);
  }
  kill(getpid(), SIGKILL);
}

void poll_until_killed(const char* path) {
  g_file = open(path, O_CREAT | O_WRONLY, 0600);
  MPI_Request request;
  long inside_ns = 0;
  MPI_Grequest_start(query, release, cancel, &inside_ns, &request);
  signal(SIGALRM, end);
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  for (int flag = 0;;) {
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    g_returned = g_returned + 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  compute(1'000'000);  // the library knows the rate of its clock
  for (int i = 0; i < 10 && mode == "transfer"; ++i) poll_request(i, 1, 2000, 0, kLongNs);
  for (int i = 0; i < 10 && mode == "work"; ++i) poll_request(i, 1, 2000, kLongNs, 0);
  for (int i = 0; i < 200 && mode == "dense"; ++i) poll_request(i, 1, 2000, 0, 0);
  for (int i = 0; i < 40 && mode == "bursts"; ++i) poll_request(i, 10, 30, 1'000'000, 0);
  if (mode == "killed") poll_until_killed(argv[2]);
  MPI_Finalize();
  return 0;
}
