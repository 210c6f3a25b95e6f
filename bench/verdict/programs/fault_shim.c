// A library to be preloaded before all others into each rank of an MPI program: it pins ranks,
// injects a fault into one, and measures what each did. x86-64 only: a wrapper passes on twelve
// words of arguments, for any types that the function takes.
//
// VERDICT_DIRECTORY    where pid.RANK (after MPI_Init) and ledger.RANK (at MPI_Finalize) are
// written VERDICT_CORES     ranks are pinned to core RANK mod so many; unset: not at all
// VERDICT_FAULT     none, sleep, imbalance, disk, lock or wire; VERDICT_RANK: of which rank
// VERDICT_SHARE     of the time: how much is injected (imbalance: extra work, as a share of the
// work between two calls) VERDICT_US        length of one injection (wire: the delay of a write)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum fault { kNone, kSleep, kImbalance, kDisk, kLock, kWire };
static const char* const kFaults[] = {"none", "sleep", "imbalance", "disk", "lock", "wire"};
enum { kMaxFiles = 1024, kBlockBytes = 65536 };

static struct {
  int is_ready, is_root_cause, rank, peer;
  enum fault fault;
  double share, injection_s;
  const char* directory;
  int lock_file, disk_file;
} settings;

static struct {
  double begin_s, begin_cpu_s, begin_delay_s;  // at the end of MPI_Init
  double injected_s, injected_cpu_s, outside_cpu_s,
      inside_s;  // outside: CPU time of the main thread between calls
  long calls, injections, switches;
} ledger;

static __thread int depth;
static double last_return_cpu_s, last_enter_s;
static __thread int to_peer;  // inside a send to the peer
static char is_slow_file[kMaxFiles];

static double clock_s(clockid_t which) {
  struct timespec now;
  clock_gettime(which, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static double wall_s(void) { return clock_s(CLOCK_MONOTONIC); }
static double cpu_s(void) { return clock_s(CLOCK_THREAD_CPUTIME_ID); }

static double run_delay_s(void) {
  unsigned long long run = 0, delay = 0;
  FILE* file = fopen("/proc/self/schedstat", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%llu %llu", &run, &delay) != 2) delay = 0;
  fclose(file);
  return 1e-9 * (double)delay;
}

static void sleep_s(double time_s) {
  struct timespec left = {(time_t)time_s, (long)(1e9 * (time_s - (double)(time_t)time_s))};
  while (nanosleep(&left, &left) != 0) {
  }
}

static const char* text_of(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value != NULL && *value != '\0' ? value : otherwise;
}

static void read_settings(void) {
  settings.is_ready = 1;
  settings.rank = atoi(text_of("OMPI_COMM_WORLD_RANK", "-1"));
  settings.peer = -1;
  settings.directory = text_of("VERDICT_DIRECTORY", ".");
  const char* fault = text_of("VERDICT_FAULT", "none");
  for (int index = 0; index <= kWire; ++index)
    if (strcmp(fault, kFaults[index]) == 0) settings.fault = (enum fault)index;
  settings.is_root_cause = settings.rank == atoi(text_of("VERDICT_RANK", "-1"));
  settings.share = atof(text_of("VERDICT_SHARE", "0"));
  settings.injection_s = 1e-6 * atof(text_of("VERDICT_US", "1000"));
  settings.lock_file = settings.disk_file = -1;
}

static int open_in_directory(const char* name, int rank, int flags) {
  char path[4096];
  if (rank >= 0)
    snprintf(path, sizeof path, "%s/%s.%d", settings.directory, name, rank);
  else
    snprintf(path, sizeof path, "%s/%s", settings.directory, name);
  return open(path, flags | O_CREAT | O_CLOEXEC, 0600);
}

static void pin(void) {
  const int cores = atoi(text_of("VERDICT_CORES", "0"));
  if (cores < 1) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)(settings.rank % cores), &set);
  sched_setaffinity(0, sizeof set, &set);
}

static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

static void started(void) {
  if (settings.fault == kLock) settings.lock_file = open_in_directory("lock", -1, O_RDWR);
  if (settings.fault == kDisk)
    settings.disk_file = open_in_directory("disk", settings.rank, O_WRONLY);
  ledger.begin_s = last_enter_s = wall_s();
  ledger.begin_cpu_s = last_return_cpu_s = cpu_s();
  ledger.begin_delay_s = run_delay_s();
  ledger.switches = -switches();
  const int file = open_in_directory("pid", settings.rank, O_WRONLY);
  dprintf(file, "%d\n", (int)getpid());
  close(file);
}

static void finish(void) {
  const double now_s = wall_s();
  FILE* file = fdopen(open_in_directory("ledger", settings.rank, O_WRONLY), "w");
  if (file == NULL) return;
  fprintf(file, "{\"rank\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f, \"run_delay_s\": %.6f, ",
          settings.rank, now_s - ledger.begin_s, cpu_s() - ledger.begin_cpu_s,
          run_delay_s() - ledger.begin_delay_s);
  fprintf(file,
          "\"outside_cpu_s\": %.6f, \"inside_s\": %.6f, \"injected_s\": %.6f, \"injected_cpu_s\": "
          "%.6f, ",
          ledger.outside_cpu_s, ledger.inside_s, ledger.injected_s, ledger.injected_cpu_s);
  fprintf(file, "\"injections\": %ld, \"calls\": %ld, \"switches\": %ld, \"peer\": %d}\n",
          ledger.injections, ledger.calls, ledger.switches + switches(), settings.peer);
  fclose(file);
}

static void burn(double time_s) {
  const double until = cpu_s() + time_s;
  while (cpu_s() < until) {
    volatile double value = 1;
    for (int index = 0; index < 200; ++index) value = value * 1.0000001;
  }
}

static void write_to_disk(double time_s) {
  static char block[kBlockBytes];
  const double until = wall_s() + time_s;
  do {
    if (pwrite(settings.disk_file, block, sizeof block, 0) < 0) break;
    fdatasync(settings.disk_file);
  } while (wall_s() < until);
}

static void inject(double work_s) {
  const double begin_s = wall_s();
  const double begin_cpu_s = cpu_s();
  if (settings.fault == kLock) flock(settings.lock_file, LOCK_EX);
  if (settings.is_root_cause && settings.fault == kImbalance) {
    burn(work_s * settings.share);
  } else if (settings.is_root_cause && ledger.injected_s + settings.injection_s <=
                                           settings.share * (begin_s - ledger.begin_s)) {
    if (settings.fault == kDisk)
      write_to_disk(settings.injection_s);
    else
      sleep_s(settings.injection_s);
    ++ledger.injections;
    ledger.injected_s += wall_s() - begin_s;
  }
  if (settings.fault == kLock) flock(settings.lock_file, LOCK_UN);
  if (settings.is_root_cause && settings.fault == kImbalance)
    ledger.injected_s += wall_s() - begin_s;
  if (settings.is_root_cause) ledger.injected_cpu_s += cpu_s() - begin_cpu_s;
}

static void before(void) {
  const double work_s = cpu_s() - last_return_cpu_s;
  ledger.outside_cpu_s += work_s;
  ++ledger.calls;
  if (settings.fault != kNone && settings.fault != kWire) inject(work_s);
  last_enter_s = wall_s();
}

static void after(void) {
  ledger.inside_s += wall_s() - last_enter_s;
  last_return_cpu_s = cpu_s();
}

typedef long (*function)(long, long, long, long, long, long, long, long, long, long, long, long);

static long next(const char* name, function* cached, const long* a) {
  if (*cached == NULL) *cached = (function)dlsym(RTLD_NEXT, name);
  return (*cached)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
}

// World rank of the destination of a send in a communicator; -1 where it cannot be had.
static int world_rank(long peer, long comm) {
  long world_group = 0, group = 0;
  int in = (int)peer, out = -1;
  function comm_group = (function)dlsym(RTLD_DEFAULT, "PMPI_Comm_group");
  function translate = (function)dlsym(RTLD_DEFAULT, "PMPI_Group_translate_ranks");
  const long world = (long)dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  if (comm_group == NULL || translate == NULL || world == 0 || in < 0) return -1;
  comm_group(comm, (long)&group, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  comm_group(world, (long)&world_group, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  translate(group, 1, (long)&in, world_group, (long)&out, 0, 0, 0, 0, 0, 0, 0);
  return out;
}

// The first other rank that the slow rank sends to is the other end of its slow wire.
static void choose_peer(const char* name, const long* a) {
  const int is_send = strcmp(name, "MPI_Send") == 0 || strcmp(name, "MPI_Isend") == 0 ||
                      strcmp(name, "MPI_Sendrecv") == 0;
  if (!settings.is_root_cause || settings.fault != kWire || !is_send) return;
  const int peer = world_rank(a[3], strcmp(name, "MPI_Sendrecv") == 0 ? a[10] : a[5]);
  if (settings.peer < 0 && peer >= 0 && peer != settings.rank) settings.peer = peer;
  to_peer = peer >= 0 && peer == settings.peer;
}

static long wrapped(const char* name, function* cached, const long* a) {
  if (depth > 0 || !settings.is_ready || ledger.begin_s == 0) return next(name, cached, a);
  ++depth;
  before();
  choose_peer(name, a);
  const long result = next(name, cached, a);
  to_peer = 0;
  after();
  --depth;
  return result;
}

#define ARGUMENTS \
  long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l
#define WORDS \
  (const long[]) { a, b, c, d, e, f, g, h, i, j, k, l }
#define WRAP(name)                         \
  long name(ARGUMENTS) {                   \
    static function cached;                \
    return wrapped(#name, &cached, WORDS); \
  }
#define INIT(name)                                   \
  long name(ARGUMENTS) {                             \
    static function cached;                          \
    read_settings();                                 \
    pin();                                           \
    const long result = next(#name, &cached, WORDS); \
    started();                                       \
    return result;                                   \
  }
#define FINALIZE(name)                  \
  long name(ARGUMENTS) {                \
    static function cached;             \
    if (ledger.begin_s > 0) finish();   \
    return next(#name, &cached, WORDS); \
  }

INIT(MPI_Init)
INIT(MPI_Init_thread)
INIT(mpi_init_)
INIT(mpi_init_thread_)
FINALIZE(MPI_Finalize)
FINALIZE(mpi_finalize_)

#define BOTH(name, lower) WRAP(MPI_##name) WRAP(mpi_##lower##_)
BOTH(Send, send)
BOTH(Isend, isend)
BOTH(Recv, recv)
BOTH(Irecv, irecv)
BOTH(Sendrecv, sendrecv)
BOTH(Wait, wait)
BOTH(Waitall, waitall)
BOTH(Waitany, waitany)
BOTH(Barrier, barrier)
BOTH(Bcast, bcast)
BOTH(Reduce, reduce)
BOTH(Allreduce, allreduce)
BOTH(Gather, gather)
BOTH(Gatherv, gatherv)
BOTH(Scatter, scatter)
BOTH(Scatterv, scatterv)
BOTH(Allgather, allgather)
BOTH(Allgatherv, allgatherv)
BOTH(Alltoall, alltoall)
BOTH(Alltoallv, alltoallv)
BOTH(Reduce_scatter, reduce_scatter)
BOTH(Scan, scan)
BOTH(Probe, probe)
WRAP(MPI_Start)
WRAP(MPI_Startall)
WRAP(MPI_Iallreduce)
WRAP(MPI_Ibcast)
WRAP(MPI_Ibarrier)
WRAP(MPI_File_write_all)
WRAP(MPI_File_write_at_all)
WRAP(MPI_File_write_at)

// A slow wire: what the slow rank writes to its peer's socket, found by the first write within a
// send to it, leaves later.
ssize_t writev(int file, const struct iovec* parts, int count) {
  static ssize_t (*real)(int, const struct iovec*, int);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "writev");
  if (settings.is_root_cause && settings.fault == kWire && file >= 0 && file < kMaxFiles) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (to_peer && getpeername(file, (struct sockaddr*)&address, &length) == 0 &&
        address.ss_family != AF_UNIX)
      is_slow_file[file] = 1;
    if (is_slow_file[file]) {
      const double begin_s = wall_s();
      sleep_s(settings.injection_s);
      ledger.injected_s += wall_s() - begin_s;
      ++ledger.injections;
    }
  }
  return real(file, parts, count);
}
