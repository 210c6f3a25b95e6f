#include "core/base/clock.h"
#include "plugin/cli/doctor.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace megascope::cli {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::size_t kMaxAnswerBytes = 1 << 20;

std::string packed(const Findings& findings) {
  Json all = Json::array();
  for (const Finding& one : findings) all.push_back({static_cast<int>(one.verdict), one.about, one.text, one.remedy});
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

bool unpack(const std::string& text, Findings& findings) {
  const Json all = Json::parse(text, nullptr, false);
  if (!text.ends_with('\n') || !all.is_array()) return false;
  for (const Json& one : all) {
    findings.push_back({static_cast<Verdict>(one.at(0).get<int>()), one.at(1).get<std::string>(), one.at(2).get<std::string>(),
                        one.at(3).get<std::string>()});
  }
  return true;
}

[[noreturn]] void answer(const std::function<Findings()>& check, int out) {
  setpgid(0, 0);  // with all that the check starts
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDWR);  // libraries that are loaded to be looked at may talk
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
  const std::string text = packed(check());
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(out, text.data() + at, text.size() - at);
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
  _exit(0);
}

/// Up to its end or the limit; false: the limit.
bool read_all(int file, int limit_ms, std::string& text) {
  const std::uint64_t end_ns = clock::monotonic_ns() + static_cast<std::uint64_t>(limit_ms) * kNsPerMs;
  char buffer[4096];
  while (text.size() < kMaxAnswerBytes) {
    const std::uint64_t now_ns = clock::monotonic_ns();
    if (now_ns >= end_ns) return false;
    pollfd wait{file, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>((end_ns - now_ns) / kNsPerMs) + 1) <= 0) continue;
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.ends_with('\n')) return true;  // what the check started may still hold the pipe
  }
  return true;
}

/// A process that waits for a file server can't be ended: it is not waited for.
void end(pid_t pid) {
  constexpr int kTries = 50;
  constexpr useconds_t kPauseUs = 10'000;
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  for (int i = 0; i < kTries && waitpid(pid, nullptr, WNOHANG) == 0; ++i) usleep(kPauseUs);
}

}  // namespace

Findings bounded(const std::string& about, const std::function<Findings()>& check, int limit_ms) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return check();
  const pid_t pid = fork();
  if (pid == 0) answer(check, ends[1]);
  close(ends[1]);
  std::string text;
  const bool is_in_time = pid > 0 && read_all(ends[0], limit_ms, text);
  close(ends[0]);
  if (pid > 0) end(pid);
  Findings findings;
  if (unpack(text, findings)) return findings;
  const std::string why = is_in_time ? "the check itself failed" : "no answer in " + std::to_string(limit_ms / 1000) + " s";
  return {{Verdict::kNote, about, why, ""}};
}

}  // namespace megascope::cli
