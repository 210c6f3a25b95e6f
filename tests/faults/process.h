#pragma once

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace megascope::faults {

struct Command {
  std::vector<std::string> arguments;  ///< the program's path first
  std::vector<std::string>
      environment;        ///< NAME=VALUE, over what the test has; MEGASCOPE_* is not inherited
  std::string directory;  ///< working directory; where stdout.txt and stderr.txt are written
  std::function<void()> before_exec;  ///< in the child
};

struct Ending {
  int exit_code = -1;  ///< -1: ended by a signal
  int signal = 0;      ///< 0: none
  bool has_timed_out = false;
  std::string out;
  std::string err;
};

/// A program that the test started. Killed, by its own number, when it is still there at the end.
class Child {
 public:
  explicit Child(Command command);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  bool has_ended();
  /// Waits; after timeout_s it is killed.
  Ending wait(int timeout_s = 20);

 private:
  Command command_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool is_reaped_ = false;
};

Ending run(const Command& command);

std::string read_text(const std::string& path);
/// How often `word` occurs; line ends and indentation count as one blank.
int occurrences(const std::string& text, const std::string& word);

}  // namespace megascope::faults
