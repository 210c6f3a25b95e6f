#include "tests/faults/victim.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

/// Modes with more than one process or thread, and those that touch descriptors.
namespace megascope::faults::victim {
namespace {

extern "C" char** environ;

int exit_code_of(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/// Is a file that ends so mapped here?
bool has_mapping(const char* suffix) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(suffix)) return true;
  }
  return false;
}

/// What a child does with MPI's local calls; its exit code says whether all was well.
int call_as_child() {
  int flag = 0;
  int rank = -1;
  int version = 0;
  for (int i = 0; i < 1000; ++i) {
    MPI_Initialized(&flag);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_version(&version, &rank);
  }
  if (has_mapping(".mgt")) return 20;
  return flag == 1 && version == 3 ? 11 : 21;
}

int fork_often() {
  init();
  for (int i = 0; i < 20; ++i) {
    mixed_calls(20);
    const pid_t child = fork();
    if (child == 0) _exit(call_as_child());
    const int code = exit_code_of(child);
    if (code != 11) {
      std::printf("child ended with %d\n", code);
      return 1;
    }
  }
  finalize();
  return 0;
}

/// The child is another program's start that failed: it says so by MPI_Abort.
int fork_then_abort() {
  init();
  mixed_calls(20);
  const pid_t child = fork();
  if (child == 0) {
    MPI_Abort(MPI_COMM_SELF, 6);
    _exit(22);
  }
  std::printf("child ended with %d\n", exit_code_of(child));
  mixed_calls(20);
  finalize();
  return 0;
}

/// The child starts a thread that calls MPI.
int fork_then_thread() {
  init(MPI_THREAD_MULTIPLE);
  mixed_calls(20);
  const pid_t child = fork();
  if (child == 0) {
    int code = 0;
    std::thread([&] { code = call_as_child(); }).join();
    _exit(code);
  }
  if (exit_code_of(child) != 11) return 1;
  mixed_calls(20);
  finalize();
  return 0;
}

int start_others() {
  init();
  mixed_calls(10);
  if (std::system("true") != 0) return 1;
  mixed_calls(10);
  const pid_t quick = vfork();
  if (quick == 0) {
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(23);
  }
  if (exit_code_of(quick) != 0) return 2;
  mixed_calls(10);
  pid_t spawned = 0;
  char name[] = "true";
  char* const arguments[] = {name, nullptr};
  if (posix_spawn(&spawned, "/bin/true", nullptr, nullptr, arguments, environ) != 0) return 3;
  if (exit_code_of(spawned) != 0) return 4;
  mixed_calls(10);
  finalize();
  return 0;
}

/// Closes every descriptor, as daemons do, and then uses the numbers that became free for its own
/// files.
int close_descriptors(const std::string& directory) {
  init();
  mixed_calls(10);
  closefrom(3);
  std::vector<int> files;
  const std::string text(4096, 'x');
  for (int i = 0; i < 24; ++i) {
    const std::string path = directory + "/mine-" + std::to_string(i);
    files.push_back(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    if (write(files.back(), text.data(), text.size()) != 4096) return 1;
  }
  cheap_calls(g_count);  // through several chunks
  for (const int file : files) {
    std::string read(5000, '\0');
    if (pread(file, read.data(), read.size(), 0) != 4096 || read.substr(0, 4096) != text) return 2;
    close(file);
  }
  std::printf("files are whole\n");
  std::fflush(stdout);
  _exit(0);  // Open MPI cannot finalize without its descriptors
}

/// Uses up all descriptors; at the end they are given back, or not.
int exhaust_descriptors(bool gives_back) {
  init();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 64;
  setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<int> files;
  for (int file = open("/dev/null", O_RDONLY); file >= 0; file = open("/dev/null", O_RDONLY))
    files.push_back(file);
  cheap_calls(g_count);
  if (gives_back) {
    for (const int file : files) close(file);
  }
  finalize();
  std::printf("%llu calls\n", static_cast<unsigned long long>(g_ledger->count.load()));
  return 0;
}

/// As a program does that looks its functions up in the MPI library. A child that ends as it does
/// has nothing to say.
int start_unseen() {
  PMPI_Init(nullptr, nullptr);
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  waitpid(child, nullptr, 0);
  PMPI_Finalize();
  std::printf("unseen\n");
  return 6;
}

/// Threads go on with what is legal after MPI_Finalize. During it they only ask for the version:
/// with the other two, a run without the library was once seen to end by a signal.
int outlive_finalize() {
  init(MPI_THREAD_MULTIPLE);
  std::atomic<bool> is_over{false};
  std::atomic<bool> is_finalizing{false};
  std::atomic<int> bad{0};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      int flag = 0;
      int version = 0;
      int minor = 0;
      started.fetch_add(1);
      while (!is_over.load()) {
        if (!is_finalizing.load()) {
          MPI_Initialized(&flag);
          bad += flag != 1 ? 1 : 0;
          MPI_Finalized(&flag);
        }
        MPI_Get_version(&version, &minor);
        bad += version != 3;
      }
    });
  }
  while (started.load() < 3) usleep(100);
  usleep(30'000);
  is_finalizing = true;
  usleep(20'000);
  MPI_Finalize();
  is_finalizing = false;
  usleep(30'000);
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("bad: %d\n", bad.load());
  return 0;
}

/// Threads that come and go, each with a few calls.
int short_threads() {
  init(MPI_THREAD_MULTIPLE);
  for (int i = 0; i < 40; ++i) {
    std::thread([] {
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }).join();
  }
  _exit(3);
}

}  // namespace

int run_process_mode(std::string_view mode) {
  if (mode == "fork-often") return fork_often();
  if (mode == "fork-then-abort") return fork_then_abort();
  if (mode == "fork-then-thread") return fork_then_thread();
  if (mode == "start-others") return start_others();
  if (mode == "close-descriptors") return close_descriptors(".");
  if (mode == "exhaust-descriptors") return exhaust_descriptors(false);
  if (mode == "exhaust-and-return-descriptors") return exhaust_descriptors(true);
  if (mode == "start-unseen") return start_unseen();
  if (mode == "outlive-finalize") return outlive_finalize();
  if (mode == "short-threads") return short_threads();
  return -1;
}

}  // namespace megascope::faults::victim
