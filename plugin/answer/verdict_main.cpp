#include "core/trace/mapping_guard.h"
#include "plugin/answer/verdict.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <signal.h>
#include <unistd.h>

/// megascope_verdict RUN_DIRECTORY NS: computes the verdict at the end of a run. The library starts
/// it as a separate process, so that a fault cannot harm the application. NS: time limit in ns.
/// Prints "+" and the verdict, or "-" and the reason why there is none. Exit code: 2 for wrong
/// arguments, otherwise 0.
int main(int argc, char** argv) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  megascope::trace::guard_mappings(
      {.file = STDOUT_FILENO, .prefix = "-", .ends_line = false, .exit_code = 0});
  megascope::answer::VerdictJob job;
  if (argc != 3) return 2;
  job.directory = argv[1];
  std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), job.max_ns);
  std::string text;
  const megascope::Status status = megascope::answer::make_verdict(job, text);
  const std::string& said = status.is_ok() ? text : status.message();
  std::printf("%s%s", status.is_ok() ? "+" : "-", said.c_str());
  return 0;
}
