#include "plugin/run/helper_process.h"

#include "core/base/clock.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace megascope::run {
namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kMaxBytes = 64 * 1024;

struct Program {
  char* const* words;
  int output;
  char* stack;  ///< top of the stack
  pid_t child;
};

/// Runs in the child, which shares our memory until execve: uses only system calls.
int become(void* argument) {
  const auto& program = *static_cast<const Program*>(argument);
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDERR_FILENO);
  dup2(program.output, STDOUT_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  char* const environment[] = {nullptr};
  execve(program.words[0], program.words, environment);
  return 127;
}

/// Intermediate process that starts the program and exits at once. After execve a child always
/// sends SIGCHLD to its parent, with any clone() flags; so the application must not be the
/// parent.
int start_it(void* argument) {
  auto& program = *static_cast<Program*>(argument);
  program.child = clone(become, program.stack, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  return 0;
}

/// Returns the process id of the program, which is not a child of this process, or −1. The program
/// starts with all signals blocked.
pid_t start(const std::vector<std::string>& words, int output) {
  struct alignas(16) Stack {
    std::array<char, kStackBytes> bytes;
    char* top() { return bytes.data() + bytes.size(); }
  };
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const auto stacks = std::make_unique<std::array<Stack, 2>>();
  Program program{pointers.data(), output, (*stacks)[0].top(), -1};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no signal handler may run in the child
  constexpr int kNoSignalAtEnd = 0;
  const pid_t between = clone(start_it, (*stacks)[1].top(), CLONE_VM | CLONE_VFORK | kNoSignalAtEnd,
                              &program);
  while (between > 0 && waitpid(between, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return program.child;
}

/// Reads until end of file. Returns true if the deadline passed first.
bool read_all(int input, std::uint64_t until_ns, std::string& output) {
  std::array<char, 4096> bytes{};
  for (;;) {
    const std::uint64_t now_ns = clock::monotonic_ns();
    if (now_ns >= until_ns) return true;
    pollfd waiting{input, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>((until_ns - now_ns) / 1'000'000 + 1));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t count = read(input, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    if (output.size() < kMaxBytes) output.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Status run_helper(const std::vector<std::string>& words, std::uint64_t max_ns, std::string& output,
                  bool& is_late) {
  is_late = false;
  const std::uint64_t until_ns = clock::monotonic_ns() + max_ns;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status::from_errno("cannot create a pipe", errno);
  const pid_t child = start(words, ends[1]);
  const int error = errno;
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return Status::from_errno("cannot start " + words[0], error);
  }
  is_late = read_all(ends[0], until_ns, output);
  close(ends[0]);
  // The process id is still valid: only that process holds the pipe open.
  if (is_late) kill(child, SIGKILL);
  return Status::ok();
}

}  // namespace megascope::run
