#include "plugin/cli/child.h"

#include "core/config/environment.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace megascope::cli {
namespace {

constexpr std::array kForwarded = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};
constexpr std::size_t kMaxOutputBytes = 65536;
constexpr int kSignalExitBase = 128;

volatile sig_atomic_t child_pid = 0;

/// A terminal sends to the whole foreground group, so also to the child: only what another process
/// sends goes on.
void forward(int signal, siginfo_t* info, void*) {
  if (child_pid > 0 && info->si_code != SI_KERNEL) kill(static_cast<pid_t>(child_pid), signal);
}

sigset_t forwarded_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

/// The forwarded signals that are not ignored already (as under nohup).
void install_forwarding() {
  struct sigaction action {};
  action.sa_sigaction = forward;
  action.sa_flags = SA_SIGINFO;
  for (const int signal : kForwarded) {
    struct sigaction old {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
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

/// In the child: does not return. The error number goes through `failure`, which a successful exec
/// closes.
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
  if (pipe2(failure, O_CLOEXEC) != 0) return Status::from_errno("cannot make a pipe", errno);
  const sigset_t forwarded = forwarded_set();
  sigset_t old_mask;
  sigprocmask(SIG_BLOCK, &forwarded, &old_mask);
  const pid_t pid = fork();
  if (pid == 0) execute(command, settings, old_mask, failure[1]);
  const int fork_error = errno;
  close(failure[1]);
  if (pid > 0) {
    child_pid = pid;
    install_forwarding();
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
  if (count > 0) return start_error(command.front(), error_number);
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalExitBase + end.signal;
  return Status::ok();
}

std::string output_of(const std::vector<std::string>& command, OutputOf which) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return {};
  const pid_t pid = fork();
  if (pid == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(which == OutputOf::kBoth ? out[1] : nothing, STDERR_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execvp(command.front().c_str(), arguments_of(command).data());
    _exit(127);
  }
  close(out[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; pid > 0 && (count = read(out[0], buffer, sizeof buffer)) > 0;) {
    if (text.size() < kMaxOutputBytes) text.append(buffer, static_cast<std::size_t>(count));
  }
  close(out[0]);
  if (pid > 0) waitpid(pid, nullptr, 0);
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
