#pragma once

#include <string>

namespace megascope {

/// CPU time that control groups grant to a process, as a number of processors.
struct CpuGrant {
  double processors = 0;  ///< for instance 1.5; 0: no limit is visible
  std::string group;  ///< path of the control group with the limit, as the process sees it; empty:
                      ///< the root group, or no limit

  bool operator==(const CpuGrant&) const = default;
};

/// Returns the smallest limit among the control groups of a process and their ancestors.
/// groups: content of /proc/<pid>/cgroup. mounts: mount point of the control groups,
/// "/sys/fs/cgroup"; versions 1 and 2 and both together are understood. May throw std::bad_alloc.
CpuGrant cpu_grant(const std::string& groups, const std::string& mounts);

}  // namespace megascope
