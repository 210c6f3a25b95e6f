#include "core/trace/mapping_guard.h"
#include "plugin/answer/verdict.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <signal.h>
#include <unistd.h>

/// megascope_verdict RUN_DIRECTORY NS: what the library asks at the end of a run, in a process of
/// its own, so that nothing that happens here can happen to the application. Prints "+" and the
/// verdict, or "-" and why there is none.
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
