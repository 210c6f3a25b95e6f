#include <mpi.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

/// Ranks with the same work in every step, who write down how long it took them:
///   working MODE KIND STEPS WORK_US SLOW_RANK FACTOR FROM_STEP TRUTH
/// MODE: allreduce  the work in one piece, then MPI_Allreduce
///       parts      in 16 segments, MPI_Sendrecv around a ring behind each; then MPI_Allreduce
///       pingpong   then a message from rank 0 to rank 1 and back, and MPI_Barrier
/// KIND: spin (as many rounds of arithmetic as take WORK_US when nothing disturbs rank 0), sleep
/// The slow rank (-1: none) has FACTOR times the work from FROM_STEP on.
/// <TRUTH>.<rank> has a line a step: wall time and CPU time of its work, and how long the process
/// waited for a core since the step before, in ns. <TRUTH>.<rank>.pid is there from the start;
/// <TRUTH>.working when a quarter is done, for those who then disturb it.
namespace {

constexpr int kSegments = 16;

volatile std::sig_atomic_t g_ended_children = 0;

int rank = 0;
int size = 1;

long long now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

double spin(long rounds) {
  double x = 1.0;
  for (long i = 0; i < rounds; ++i) x = x * 0.999999 + 1e-6;
  return x;
}

volatile double g_result = 0;

/// What takes so long on rank 0 when it is quickest, for all.
long rounds_for(long time_us) {
  constexpr long kTry = 100'000;
  long long best_ns = 1LL << 60;
  for (int i = 0; i < 200 && rank == 0; ++i) {
    const long long begin = now_ns(CLOCK_MONOTONIC);
    g_result = spin(kTry);
    best_ns = std::min(best_ns, now_ns(CLOCK_MONOTONIC) - begin);
  }
  long rounds = static_cast<long>(static_cast<double>(time_us) * 1e3 /
                                  static_cast<double>(best_ns) * kTry);
  MPI_Bcast(&rounds, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return rounds;
}

void sleep_ns(long long time_ns) {
  const timespec time{static_cast<time_t>(time_ns / 1'000'000'000),
                      static_cast<long>(time_ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

struct Work {
  bool is_sleep;
  long rounds;
  long time_us;
  long long wall_ns = 0;
  long long cpu_ns = 0;
  long long kept_waiting_ns = 0;

  void do_part(double part) {
    const long long wall = now_ns(CLOCK_MONOTONIC);
    const long long cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    if (is_sleep)
      sleep_ns(static_cast<long long>(static_cast<double>(time_us) * 1e3 * part));
    else
      g_result = spin(static_cast<long>(static_cast<double>(rounds) * part));
    cpu_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wall_ns += now_ns(CLOCK_MONOTONIC) - wall;
  }
};

/// So far. As the scheduler tells, 0 where it does not.
long long waited_for_core_ns() {
  static const int file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
  char text[128] = "";
  if (file < 0 || pread(file, text, sizeof text - 1, 0) <= 0) return 0;
  const char* second = std::strchr(text, ' ');
  return second == nullptr ? 0 : std::atoll(second);
}

void exchange(const std::string& mode) {
  double value = rank;
  double other = 0;
  if (mode == "pingpong") {
    if (rank == 0) MPI_Send(&value, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
    if (rank <= 1 && size > 1)
      MPI_Recv(&other, 1, MPI_DOUBLE, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&value, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Allreduce(&value, &other, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

void work_step(Work& work, double factor, const std::string& mode) {
  if (mode != "parts") {
    work.do_part(factor);
    exchange(mode);
    return;
  }
  double value = rank;
  double other = 0;
  for (int i = 0; i < kSegments; ++i) {
    work.do_part(factor / kSegments);
    MPI_Sendrecv(&value, 1, MPI_DOUBLE, (rank + 1) % size, 3, &other, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  exchange(mode);
}

void write_file(const std::string& path, const std::vector<Work>& done) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  for (const Work& step : done)
    std::fprintf(file, "%lld %lld %lld\n", step.wall_ns, step.cpu_ns, step.kept_waiting_ns);
  std::fclose(file);
}

/// Whole, as soon as it is there.
void write_pid(const std::string& truth) {
  const std::string path = truth + "." + std::to_string(rank) + ".pid";
  std::FILE* file = std::fopen((path + ".part").c_str(), "w");
  if (file == nullptr) return;
  std::fprintf(file, "%d\n", static_cast<int>(getpid()));
  std::fclose(file);
  std::rename((path + ".part").c_str(), path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) return 2;
  const std::string mode = argv[1];
  const bool is_sleep = std::strcmp(argv[2], "sleep") == 0;
  const int steps = std::atoi(argv[3]);
  const long time_us = std::atol(argv[4]);
  const int slow_rank = std::atoi(argv[5]);
  const double factor = std::atof(argv[6]);
  const int from_step = std::atoi(argv[7]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Work work{.is_sleep = is_sleep, .rounds = is_sleep ? 0 : rounds_for(time_us), .time_us = time_us};
  std::vector<Work> done;
  write_pid(argv[8]);
  long long waited_ns = waited_for_core_ns();
  for (int step = 0; step < steps; ++step) {
    work.wall_ns = work.cpu_ns = 0;
    work_step(work, rank == slow_rank && step >= from_step ? factor : 1.0, mode);
    work.kept_waiting_ns = waited_for_core_ns() - waited_ns;
    waited_ns += work.kept_waiting_ns;
    done.push_back(work);
    if (rank == 0 && step + 1 == steps / 4) write_file(std::string(argv[8]) + ".working", {});
  }
  write_file(std::string(argv[8]) + "." + std::to_string(rank), done);
  std::signal(SIGCHLD, [](int) { g_ended_children = g_ended_children + 1; });
  MPI_Finalize();
  return g_ended_children != 0
             ? 9
             : 0;  // after all that is done for the program at its end, it has no children
}
