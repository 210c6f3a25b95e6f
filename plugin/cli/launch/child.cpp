#include "plugin/cli/launch/child.h"

#include "core/base/clock.h"
#include "core/config/environment.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace megascope::cli {
namespace {

constexpr std::array kForwarded = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
constexpr std::size_t kMaxOutputBytes = 65536;
constexpr int kSignalExitBase = 128;
constexpr int kOutputLimitMs = 15'000;
constexpr std::uint64_t kNsPerMs = 1'000'000;

volatile sig_atomic_t child_pid = 0;

/// Forwards a signal to the child. Signals from the terminal (SI_KERNEL) have reached the child
/// already, because they go to the whole foreground process group.
void forward(int signal, siginfo_t* info, void*) {
  if (child_pid > 0 && info->si_code != SI_KERNEL) kill(static_cast<pid_t>(child_pid), signal);
}

sigset_t forwarded_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

using Actions = std::array<struct sigaction, kForwarded.size()>;

/// Installs forwarding for signals that are not ignored (as under nohup). before: the previous
/// actions.
void install_forwarding(Actions& before) {
  struct sigaction action {};
  action.sa_sigaction = forward;
  action.sa_flags = SA_SIGINFO;
  for (std::size_t i = 0; i < kForwarded.size(); ++i) {
    sigaction(kForwarded[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kForwarded[i], &action, nullptr);
  }
}

void remove_forwarding(const Actions& before) {
  for (std::size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &before[i], nullptr);
}

std::vector<char*> arguments_of(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

Status start_error(const std::string& name, int error_number) {
  return Status::from_errno("cannot run " + name, error_number);
}

/// Runs in the child and does not return. An exec error is written to `failure`, which a successful
/// exec closes.
void execute(const std::vector<std::string>& command, const std::vector<Setting>& settings,
             const sigset_t& mask, int failure) {
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  for (const Setting& setting : settings)
    config::set_environment_value(setting.name.c_str(), setting.value);
  execvp(command.front().c_str(), arguments_of(command).data());
  const int error_number = errno;
  (void)!write(failure, &error_number, sizeof error_number);
  _exit(127);
}

}  // namespace

Status become(const std::vector<std::string>& command, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    config::set_environment_value(setting.name.c_str(), setting.value);
  execvp(command.front().c_str(), arguments_of(command).data());
  return start_error(command.front(), errno);
}

Status run_child(const std::vector<std::string>& command, const std::vector<Setting>& settings,
                 ChildEnd& end) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return Status::from_errno("cannot create a pipe", errno);
  const sigset_t forwarded = forwarded_set();
  sigset_t old_mask;
  sigprocmask(SIG_BLOCK, &forwarded, &old_mask);
  const pid_t pid = fork();
  if (pid == 0) execute(command, settings, old_mask, failure[1]);
  const int fork_error = errno;
  Actions before{};
  close(failure[1]);
  if (pid > 0) {
    child_pid = pid;
    install_forwarding(before);
  }
  sigprocmask(SIG_SETMASK, &old_mask, nullptr);
  int error_number = 0;
  ssize_t count = 0;
  while (pid > 0 && (count = read(failure[0], &error_number, sizeof error_number)) < 0 &&
         errno == EINTR)
    continue;
  close(failure[0]);
  if (pid < 0) return Status::from_errno("cannot fork", fork_error);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  child_pid = 0;
  remove_forwarding(before);
  if (count > 0) return start_error(command.front(), error_number);
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalExitBase + end.signal;
  return Status::ok();
}

bool read_within(int file, int limit_ms, std::size_t max_bytes, std::string_view until,
                 std::string& text) {
  const std::uint64_t end_ns = clock::monotonic_ns() +
                               static_cast<std::uint64_t>(limit_ms) * kNsPerMs;
  char buffer[4096];
  while (text.size() < max_bytes) {
    const std::uint64_t now_ns = clock::monotonic_ns();
    if (now_ns >= end_ns) return false;
    pollfd wait{file, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>((end_ns - now_ns) / kNsPerMs) + 1) <= 0) continue;
    const ssize_t count = read(file, buffer, std::min(sizeof buffer, max_bytes - text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(count));
    if (!until.empty() && text.ends_with(until)) return true;
  }
  return true;
}

void end_child(pid_t pid) {
  constexpr int kTimeoutMs = 500;
  kill(pid, SIGKILL);
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd wait{handle, POLLIN, 0};
  if (handle >= 0) (void)poll(&wait, 1, kTimeoutMs);
  if (handle >= 0) close(handle);
  (void)waitpid(pid, nullptr, WNOHANG);
}

std::string output_of(const std::vector<std::string>& command, OutputOf which) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(which == OutputOf::kBoth ? out[1] : nothing, STDERR_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execvp(command.front().c_str(), arguments_of(command).data());
    _exit(127);
  }
  close(out[1]);
  std::string text;
  const bool has_ended = pid > 0 && read_within(out[0], kOutputLimitMs, kMaxOutputBytes, {}, text);
  close(out[0]);
  if (pid > 0) end_child(pid);
  if (!has_ended) return {};
  return text;
}

void end_like(const ChildEnd& end) {
  if (end.signal != 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(end.signal, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, end.signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    raise(end.signal);
  }
  std::exit(end.exit_code);
}

}  // namespace megascope::cli
