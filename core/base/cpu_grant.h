#pragma once

#include <string>

namespace megascope {

/// CPU time that control groups grant to the processes in them, as a number of processors.
struct CpuGrant {
  double processors = 0;  ///< 1.5; 0: no limit is visible
  std::string group;      ///< path of the control group that has the limit, as the process sees it;
                          ///< empty: the root, or no limit

  bool operator==(const CpuGrant&) const = default;
};

/// The least grant of a process's control groups and of the groups above them. groups: content of
/// /proc/<pid>/cgroup. mounts: where control groups are mounted ("/sys/fs/cgroup"), of version 1, 2
/// or both. May throw bad_alloc.
CpuGrant cpu_grant(const std::string& groups, const std::string& mounts);

}  // namespace megascope
