#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope {

/// Processors that a process may use, and those of its node. Processors are the kernel's logical
/// CPUs: the hyper-threads of one core are several processors.
struct NodeCpus {
  std::vector<std::uint32_t> cores;  ///< that the process may use, each by the lowest number of its
                                     ///< processors, ascending; empty: not known
  std::uint32_t
      processors = 0;  ///< that the process may use; what a cpuset excludes does not count
  std::uint32_t node_cores = 0;       ///< online; 0: not known
  std::uint32_t node_processors = 0;  ///< online; 0: not known
  std::uint32_t granted_milli = 0;    ///< CPU time that control groups grant, in thousandths of a
                                      ///< processor; 0: no limit is visible
  std::string group;                  ///< CpuGrant::group
  bool has_core_wait = true;          ///< the kernel reports how long threads wait for a core
                                      ///< (/proc/thread-self/schedstat)

  bool is_known() const { return !cores.empty(); }
  double granted() const { return granted_milli / 1000.0; }
  bool operator==(const NodeCpus&) const = default;
};

/// Of the calling thread. Reads the affinity mask, /sys/devices/system/cpu, /proc/self/cgroup and
/// /sys/fs/cgroup: some 100 us, on a node of 256 processors 2 ms. Any thread. May throw bad_alloc.
/// has_core_wait is left as it is.
NodeCpus node_cpus();

/// The same for a process that may use `processors` (ascending), with the files of the kernel below
/// `root`.
NodeCpus node_cpus(const std::vector<std::uint32_t>& processors, const std::string& root);

/// "cores=0-3 processors=8 node_cores=4 node_processors=8": as traces store it, and the inverse.
/// parse: of untrusted text; false where it is malformed. Words that this version does not know are
/// ignored.
std::string to_text(const NodeCpus& cpus);
bool parse(std::string_view text, NodeCpus& cpus);

/// "0-3,8" to numbers and back: the kernel's list format. False: malformed, not ascending, or more
/// than 65536 numbers.
bool parse_number_list(std::string_view text, std::vector<std::uint32_t>& numbers);
std::string number_list(const std::vector<std::uint32_t>& numbers);

}  // namespace megascope
