#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope {

/// The processors that a process may use, and those of its node. A processor is a logical CPU of
/// the kernel: each hyper-thread of a core is one.
struct NodeCpus {
  std::vector<std::uint32_t> cores;  ///< cores the process may use, each by its lowest processor
                                     ///< number, ascending; empty: unknown
  std::uint32_t
      processors = 0;  ///< processors the process may use, without those that a cpuset excludes
  std::uint32_t node_cores = 0;       ///< online cores; 0: unknown
  std::uint32_t node_processors = 0;  ///< online processors; 0: unknown
  std::uint32_t granted_milli = 0;    ///< CPU time that control groups grant, in thousandths of a
                                      ///< processor; 0: no limit is visible
  std::string group;                  ///< CpuGrant::group
  bool has_core_wait = true;          ///< the kernel reports how long threads wait for a processor
                                      ///< (/proc/thread-self/schedstat)

  /// Returns whether the affinity mask could be read.
  bool is_known() const { return !cores.empty(); }
  /// Returns the granted CPU time as a number of processors; 0: no limit is visible.
  double granted() const { return granted_milli / 1000.0; }
  bool operator==(const NodeCpus&) const = default;
};

/// Reads the NodeCpus of the calling thread from its affinity mask, /sys/devices/system/cpu,
/// /proc/self/cgroup and /sys/fs/cgroup. About 100 us; 2 ms on a node of 256 processors. Any
/// thread. has_core_wait keeps its default. May throw std::bad_alloc.
NodeCpus node_cpus();

/// Reads the NodeCpus of a process that may use `processors` (ascending) below `root`, a directory
/// that holds the kernel's files. For tests.
NodeCpus node_cpus(const std::vector<std::uint32_t>& processors, const std::string& root);

/// Writes and parses the text form that traces store: "cores=0-3 processors=8 node_cores=4
/// node_processors=8". parse() takes untrusted text and returns false if it is malformed; it
/// ignores unknown words.
std::string to_text(const NodeCpus& cpus);
bool parse(std::string_view text, NodeCpus& cpus);

/// Parses and writes the kernel's list format, "0-3,8". parse_number_list() returns false if the
/// text is malformed, not ascending, or has more than 65536 numbers.
bool parse_number_list(std::string_view text, std::vector<std::uint32_t>& numbers);
std::string number_list(const std::vector<std::uint32_t>& numbers);

}  // namespace megascope
