#include "tests/faults/process.h"

#include <fcntl.h>
#include <fstream>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern "C" char** environ;

namespace megascope::faults {
namespace {

void redirect(const std::string& path, int descriptor) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file >= 0) dup2(file, descriptor);
}

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (!text.starts_with("MEGASCOPE_") && !text.starts_with("LD_PRELOAD="))
      entries.push_back(text);
  }
  entries.insert(entries.end(), command.environment.begin(), command.environment.end());
  return entries;
}

[[noreturn]] void become(const Command& command, std::vector<std::string> entries) {
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  clearenv();
  for (const std::string& entry : entries) {
    const std::size_t at = entry.find('=');
    if (at != std::string::npos)
      setenv(entry.substr(0, at).c_str(), entry.substr(at + 1).c_str(), 1);
  }
  redirect(command.directory + "/stdout.txt", STDOUT_FILENO);
  redirect(command.directory + "/stderr.txt", STDERR_FILENO);
  if (chdir(command.directory.c_str()) != 0) _exit(126);
  if (command.before_exec) command.before_exec();
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Child::Child(Command command) : command_(std::move(command)) {
  std::vector<std::string> entries = environment_of(command_);
  pid_ = fork();
  if (pid_ == 0) become(command_, std::move(entries));
  if (pid_ < 0) throw std::runtime_error("cannot start a process");
}

Child::~Child() {
  if (!has_ended()) {
    send(SIGKILL);
    waitpid(pid_, &status_, 0);
  }
}

void Child::send(int signal) const {
  if (!is_reaped_) kill(pid_, signal);
}

bool Child::has_ended() {
  if (!is_reaped_ && waitpid(pid_, &status_, WNOHANG) == pid_) is_reaped_ = true;
  return is_reaped_;
}

Ending Child::wait(int timeout_s) {
  Ending ending;
  for (int tick = 0; tick < timeout_s * 500 && !has_ended(); ++tick) usleep(2000);
  if (!has_ended()) {
    ending.has_timed_out = true;
    send(SIGTERM);  // a launcher ends its processes then
    for (int tick = 0; tick < 1000 && !has_ended(); ++tick) usleep(2000);
    send(SIGKILL);
    for (int tick = 0; tick < 1000 && !has_ended(); ++tick) usleep(2000);
  }
  if (WIFEXITED(status_)) ending.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) ending.signal = WTERMSIG(status_);
  ending.out = read_text(command_.directory + "/stdout.txt");
  ending.err = read_text(command_.directory + "/stderr.txt");
  return ending;
}

Ending run(const Command& command) { return Child(command).wait(); }

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int occurrences(const std::string& wrapped, const std::string& word) {
  const bool has_line_end = word.find('\n') != std::string::npos;
  std::string text;
  for (const char c : wrapped) {
    const bool is_blank = c == ' ' || c == '\n';
    if (has_line_end || !is_blank || text.empty() || text.back() != ' ')
      text += is_blank && !has_line_end ? ' ' : c;
  }
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + word.size()))
    ++count;
  return count;
}

}  // namespace megascope::faults
