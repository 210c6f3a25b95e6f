// Programs that hang, each in its own way: `hanging MODE`.
#include "tests/analysis/hanging.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>
#include <vector>

namespace megascope::hanging {
namespace {

int next() { return (g_rank + 1) % g_size; }
int previous() { return (g_rank + g_size - 1) % g_size; }

void allreduce(MPI_Comm comm) {
  int sum = 0;
  MPI_Allreduce(&g_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
}

void receive_ring() { receive(next(), 7); }  // two of them: each from the other

void ssend_ring() {
  ready();
  MPI_Ssend(&g_value, 1, MPI_INT, next(), 3, MPI_COMM_WORLD);
}

void large_send_ring() {
  const std::vector<char> data(1 << 22);
  ready();
  MPI_Send(data.data(), 1 << 22, MPI_CHAR, next(), 3, MPI_COMM_WORLD);
}

/// The last rank calls another collective.
void other_collective() {
  const MPI_Comm dp = copy("dp");
  for (int i = 0; i < 17; ++i) allreduce(dp);
  ready();
  if (g_rank == g_size - 1)
    MPI_Barrier(dp);
  else
    allreduce(dp);
}

void other_root() {
  const MPI_Comm dp = copy("dp");
  MPI_Bcast(&g_value, 1, MPI_INT, g_rank == 1 ? 1 : 0, dp);
  MPI_Barrier(dp);
  linger();
}

void one_sleeps() {
  const MPI_Comm dp = copy("dp");
  for (int i = 0; i < 3; ++i) MPI_Barrier(dp);
  if (g_rank == g_size - 1) linger();
  ready();
  MPI_Barrier(dp);
}

void one_dies() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) _exit(0);
  receive(1, 5);
}

/// Rank 1 is killed between two calls; the others wait for it.
void killed_outside() {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Sendrecv(&g_rank, 1, MPI_INT, next(), 4, &g_value, 1, MPI_INT, previous(), 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (g_rank == 1) {
    usleep(1'000'000);  // until the others are in their next call: a launcher ends them at once
    raise(SIGKILL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void die_while_reducing(void*, void*, int*, MPI_Datatype*) {
  if (g_rank != 1) return;
  usleep(1'000'000);  // until the others are in their next call
  raise(SIGKILL);
}

/// Rank 1 is killed in a reduction of which it is the root; the others have left it.
void killed_inside() {
  MPI_Op op;
  MPI_Op_create(die_while_reducing, 1, &op);
  int sum = 0;
  MPI_Reduce(&g_rank, &sum, 1, MPI_INT, op, 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Rank 1 is killed in a receive, long after the others have entered MPI_Finalize.
void killed_last() {
  if (g_rank != 1) return;
  std::thread([] {
    usleep(500'000);
    raise(SIGKILL);
  }).detach();
  receive(0, 5);
}

/// Rank 1 is killed while it waits for rank 0, which works.
void killed_waiting() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 0) sleep_on();
  if (g_rank == 1) {
    std::thread([] {
      usleep(300'000);
      raise(SIGKILL);
    }).detach();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void one_aborts() {
  MPI_Barrier(MPI_COMM_WORLD);  // rank 0 has its run directory then
  if (g_rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
  receive(1, 5);
}

void one_finishes() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) {
    ready();
    MPI_Finalize();
    return;
  }
  receive(1, 5);
}

/// Rank 0 waits for a message of each other; the last one, which waits for rank 0, has not sent its
/// own.
void waitall_missing() {
  std::vector<MPI_Request> requests(static_cast<std::size_t>(g_size - 1));
  std::vector<int> values(requests.size());
  if (g_rank == 0) {
    for (int i = 1; i < g_size; ++i) {
      MPI_Irecv(&values[static_cast<std::size_t>(i - 1)], 1, MPI_INT, i, 10 + i, MPI_COMM_WORLD,
                &requests[static_cast<std::size_t>(i - 1)]);
    }
    ready();
    MPI_Waitall(g_size - 1, requests.data(), MPI_STATUSES_IGNORE);
  } else if (g_rank < g_size - 1) {
    MPI_Send(&g_value, 1, MPI_INT, 0, 10 + g_rank, MPI_COMM_WORLD);
    linger();
  } else {
    receive(0, 99);
  }
}

/// One of several requests; the wrong tag.
void wait_wrong_tag() {
  std::array<MPI_Request, 2> requests{};
  int other = 0;
  MPI_Irecv(&g_value, 1, MPI_INT, next(), 1, MPI_COMM_WORLD, requests.data());
  MPI_Irecv(&other, 1, MPI_INT, next(), 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(&g_rank, 1, MPI_INT, previous(), 1, MPI_COMM_WORLD);
  MPI_Send(&g_rank, 1, MPI_INT, previous(), 3, MPI_COMM_WORLD);
  MPI_Wait(requests.data(), MPI_STATUS_IGNORE);
  ready();
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

void probe() {
  ready();
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
}

void test_loop() {
  MPI_Request request;
  MPI_Irecv(&g_value, 1, MPI_INT, next(), 1, MPI_COMM_WORLD, &request);
  int flag = 0;
  ready();
  while (flag == 0) {
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    usleep(1000);
  }
}

void sendrecv() {  // no rank sends what is received
  int other = 0;
  ready();
  MPI_Sendrecv(&g_value, 1, MPI_INT, next(), 1, &other, 1, MPI_INT, previous(), 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/// Two threads of each rank; the second waits for the other rank's second.
void threads() {
  std::thread second([] { receive(next(), 20 + g_rank); });
  receive(next(), 10 + g_rank);
  second.join();
}

/// The second thread of rank 1 would have to send, and does not.
void idle_thread() {
  std::thread second([] {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (g_rank == 1) linger();
  });
  if (g_rank != 1) second.join();
  receive(next(), 10);
}

/// Two groups; the second does not come to the barrier of both.
void intercomm() {
  MPI_Comm half;
  MPI_Comm both;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, g_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, g_rank % 2 == 0 ? 1 : 0, 5, &both);
  named(both, "both");
  if (g_rank % 2 == 0) {
    ready();
    MPI_Barrier(both);
  } else {
    receive(0, 6, both);
  }
}

void nonblocking() {
  const MPI_Comm dp = copy("dp");
  MPI_Request request;
  if (g_rank == g_size - 1) return receive(0, 1);
  MPI_Ibarrier(dp, &request);
  ready();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// All are well: they work and talk until they are told to stop.
void healthy() {
  int go_on = 1;
  ready();
  while (go_on != 0) {
    int other = 0;
    usleep(500);
    MPI_Sendrecv(&g_value, 1, MPI_INT, next(), 1, &other, 1, MPI_INT, previous(), 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    const int mine = std::getenv("HANGING_STOP") != nullptr &&
                             access(std::getenv("HANGING_STOP"), R_OK) == 0
                         ? 0
                         : 1;
    MPI_Allreduce(&mine, &go_on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
}

/// Ends in good order, but the last rank does not see the last broadcast.
void uneven() {
  const MPI_Comm dp = copy("dp");
  allreduce(dp);
  if (g_rank == 0) MPI_Bcast(&g_value, 1, MPI_INT, 0, dp);
  MPI_Barrier(MPI_COMM_WORLD);
}

constexpr std::array kModes = {Mode{"receive-ring", receive_ring},
                               Mode{"ssend-ring", ssend_ring},
                               Mode{"large-send-ring", large_send_ring},
                               Mode{"other-collective", other_collective},
                               Mode{"other-root", other_root},
                               Mode{"one-sleeps", one_sleeps},
                               Mode{"killed-outside", killed_outside},
                               Mode{"killed-inside", killed_inside},
                               Mode{"killed-last", killed_last},
                               Mode{"killed-waiting", killed_waiting},
                               Mode{"one-aborts", one_aborts},
                               Mode{"one-dies", one_dies},
                               Mode{"one-finishes", one_finishes},
                               Mode{"waitall-missing", waitall_missing},
                               Mode{"wait-wrong-tag", wait_wrong_tag},
                               Mode{"probe", probe},
                               Mode{"test-loop", test_loop},
                               Mode{"sendrecv", sendrecv},
                               Mode{"threads", threads},
                               Mode{"idle-thread", idle_thread},
                               Mode{"intercomm", intercomm},
                               Mode{"nonblocking", nonblocking},
                               Mode{"healthy", healthy},
                               Mode{"uneven", uneven}};

/// nullptr: none has the name.
const Mode* find_mode(const std::string& name) {
  const auto in = [&](std::span<const Mode> modes) {
    const auto found = std::ranges::find(modes, name, &Mode::name);
    return found != modes.end() ? &*found : nullptr;
  };
  const Mode* mode = in(kModes);
  return mode != nullptr ? mode : in(modes_elsewhere());
}

}  // namespace
}  // namespace megascope::hanging

int main(int argc, char** argv) {
  using namespace megascope::hanging;
  const std::string name = argc > 1 ? argv[1] : "";
  int provided = 0;
  const bool has_threads = name == "threads" || name == "idle-thread";
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  const Mode* mode = find_mode(name);
  if (mode == nullptr) MPI_Abort(MPI_COMM_WORLD, 2);
  mode->run();
  if (name != "one-finishes" || g_rank != 1) MPI_Finalize();
}
