#include <mpi.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <megascope/megascope.h>
#include <new>
#include <sched.h>

/// Ranks that wait for each other in shared memory, where no MPI call shows it:
///   spinning WHERE STEPS WORK_US GROUP_SIZE SLOW_RANK FACTOR
/// A step: work, MPI_Get_version, work again, then all ranks of a group wait for each other; then
/// MPI_Allreduce. WHERE: gap     nothing is annotated
///        region  steps are, and `backward` around the second work and the wait
/// Ranks 0 … GROUP_SIZE-1 are the first group. The slow rank (-1: none) has FACTOR times the first
/// work. Work is CPU time: it is the same however the cores are shared.
namespace {

int rank = 0;

long long now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

/// Until the thread has computed so long; as precise as two readings.
void work(double time_us) {
  const long long begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
  const auto end_ns = begin_ns + static_cast<long long>(time_us * 1e3);
  long long ns = begin_ns;
  while (ns < end_ns) ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/// Of the ranks of a group, in shared memory.
class SpinBarrier {
 public:
  void wait(int members) {
    const int round = round_.load();
    if (arrived_.fetch_add(1) + 1 == members) {
      arrived_.store(0);
      round_.store(round + 1);
      return;
    }
    while (round_.load() == round) sched_yield();
  }

 private:
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

struct Arguments {
  bool has_regions;
  int steps;
  double work_us;
  int group_size;
  int slow_rank;
  double factor;
};

void run(const Arguments& arguments, SpinBarrier& barrier) {
  const megascope_region backward = megascope_region_define("backward");
  const double factor = rank == arguments.slow_rank ? arguments.factor : 1.0;
  for (int step = 0; step < arguments.steps; ++step) {
    if (arguments.has_regions) megascope_step_begin(step);
    work(factor * arguments.work_us);
    int version = 0;
    int subversion = 0;
    MPI_Get_version(&version, &subversion);
    if (arguments.has_regions) megascope_region_enter(backward);
    work(arguments.work_us);
    barrier.wait(arguments.group_size);
    if (arguments.has_regions) megascope_region_leave(backward);
    double sum = 0;
    const double own = rank;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (arguments.has_regions) megascope_step_end();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  const Arguments arguments{.has_regions = std::strcmp(argv[1], "region") == 0,
                            .steps = std::atoi(argv[2]),
                            .work_us = std::atof(argv[3]),
                            .group_size = std::atoi(argv[4]),
                            .slow_rank = std::atoi(argv[5]),
                            .factor = std::atof(argv[6])};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / arguments.group_size, rank, &group);
  void* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const MPI_Aint size = rank % arguments.group_size == 0 ? sizeof(SpinBarrier) : 0;
  MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, group, &memory, &window);
  MPI_Aint found = 0;
  int unit = 1;
  MPI_Win_shared_query(window, 0, &found, &unit, &memory);
  if (rank % arguments.group_size == 0) new (memory) SpinBarrier();
  MPI_Barrier(MPI_COMM_WORLD);
  run(arguments, *static_cast<SpinBarrier*>(memory));
  MPI_Win_free(&window);
  MPI_Comm_free(&group);
  MPI_Finalize();
  return 0;
}
