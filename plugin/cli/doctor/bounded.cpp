#include "plugin/cli/doctor/checks.h"
#include "plugin/cli/launch/child.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace megascope::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxAnswerBytes = 1 << 20;

std::string packed(const Findings& findings) {
  Json all = Json::array();
  for (const Finding& one : findings)
    all.push_back({static_cast<int>(one.verdict), one.about, one.text, one.remedy});
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

bool unpack(const std::string& text, Findings& findings) {
  const Json all = Json::parse(text, nullptr, false);
  if (!text.ends_with('\n') || !all.is_array()) return false;
  for (const Json& one : all) {
    findings.push_back({static_cast<Verdict>(one.at(0).get<int>()), one.at(1).get<std::string>(),
                        one.at(2).get<std::string>(), one.at(3).get<std::string>()});
  }
  return true;
}

[[noreturn]] void answer(const std::function<Findings()>& check, int out) {
  setpgid(0, 0);  // a process group with everything that the check starts
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null",
                           O_RDWR);  // libraries that are loaded for a check may print messages
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
  const std::string text = packed(check());
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(out, text.data() + at, text.size() - at);
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
  _exit(0);
}

}  // namespace

Findings bounded(const std::string& about, const std::function<Findings()>& check, int limit_ms) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return check();
  const pid_t pid = fork();
  if (pid == 0) answer(check, ends[1]);
  close(ends[1]);
  std::string text;
  // Until the newline, not end of file: processes started by the check may keep the pipe open.
  const bool is_in_time = pid > 0 && read_within(ends[0], limit_ms, kMaxAnswerBytes, "\n", text);
  close(ends[0]);
  if (pid > 0) kill(-pid, SIGKILL);  // including processes that it started
  if (pid > 0) end_child(pid);
  Findings findings;
  if (unpack(text, findings)) return findings;
  const std::string why = is_in_time ? "the check itself failed"
                                     : "no answer in " + std::to_string(limit_ms / 1000) + " s";
  return {{Verdict::kNote, about, why, ""}};
}

}  // namespace megascope::cli
