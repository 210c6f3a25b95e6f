#include "plugin/live/server/background_thread.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace megascope::live {
namespace {

constexpr int kNiceness = 5;

}  // namespace

cpu_set_t affinity_of_this_thread() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

void make_background_thread(const char* name, const cpu_set_t& busy) noexcept {
  prctl(PR_SET_NAME, name, 0, 0, 0);
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()),
              kNiceness);  // on Linux, of this thread only
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &busy)) CPU_SET(cpu, &others);
  }
  // The kernel intersects the mask with the process's cpuset, and fails if the result is empty.
  if (CPU_COUNT(&busy) != 0) sched_setaffinity(0, sizeof others, &others);
}

}  // namespace megascope::live
