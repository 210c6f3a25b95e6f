/// Records per CPU second of the detection over native traces: detection_speed RUN. README.md.
#include "analysis/detect/detect.h"
#include "core/trace/run_files.h"

#include <cstdio>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <time.h>
#include <vector>

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Calls of a run, and the CPU seconds that reading them alone takes.
unsigned long long count_calls(const megascope::RecordSource& run) {
  unsigned long long count = 0;
  for (const std::int32_t rank : run.world_ranks()) {
    const auto calls = run.calls(rank, 0);
    for (megascope::Call call; calls->next(call);) ++count;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: detection_speed RUN\n"), 2;
  std::unique_ptr<megascope::trace::RunSource> run;
  std::vector<std::string> problems;
  const megascope::Status status = megascope::trace::RunSource::open(argv[1], {}, run, problems);
  if (!status.is_ok())
    return std::fprintf(stderr, "detection_speed: %s\n", status.message().c_str()), 2;
  const double start = cpu_seconds();
  const unsigned long long count = count_calls(*run);
  const double read = cpu_seconds();
  const megascope::detect::Detection detection = megascope::detect::detect(*run);
  const double end = cpu_seconds();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%llu calls, %zu ranks, %d steps, %zu root causes: reading %.3f s (%.1f M/s), detection %.3f "
      "s "
      "(%.1f M/s), peak %ld KiB (%.1f B a call)\n",
      count, run->world_ranks().size(), detection.step_count, detection.root_causes.size(),
      read - start, 1e-6 * static_cast<double>(count) / (read - start), end - read,
      1e-6 * static_cast<double>(count) / (end - read), usage.ru_maxrss,
      1024.0 * static_cast<double>(usage.ru_maxrss) / static_cast<double>(count));
  return 0;
}
