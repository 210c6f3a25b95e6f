#pragma once

#include "core/base/status.h"
#include "core/config/options.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

/// Paths and resource checks for the files of a run.
namespace megascope::run {

/// Mode of files of the run directory other than traces; the umask applies.
inline constexpr mode_t kTextMode = 0666;

/// Returns a random run id of 16 hexadecimal digits.
std::string make_run_id();

/// The directory for trace buffers on this node (core/trace/scratch_home.h).
std::string choose_scratch(const config::Options& options);

/// Creates a new run directory: `wanted` (made absolute), or with suffix -2, -3, … if that exists.
/// The directory, and missing parents, are never writable for group and others.
Status make_run_directory(const std::string& wanted, std::string& directory);
/// Inode number of a directory; 0 if `path` does not exist or is not a directory (a link is not
/// followed). Identifies the directory even if it, or a parent, is renamed.
std::uint64_t directory_inode(const std::string& path) noexcept;
/// The requested run directory: MEGASCOPE_OUT, else "megascope-<job.step>" under Slurm, else
/// "megascope-<host>-<pid>".
std::string wanted_run_directory(const config::Options& options, const std::string& host, long pid);

/// "<job>.<step>" under Slurm, else empty.
std::string slurm_job();
/// Ids of job, step and node from Slurm's environment variables; empty without Slurm. Values are
/// truncated to 1024 bytes.
std::vector<LauncherFact> slurm_facts();
/// The job's node list in Slurm's syntax, e.g. "n[0-3]"; empty without Slurm.
std::string slurm_nodes();
/// Returns the absolute path of the run directory if every rank can compute it without
/// communication. This is MEGASCOPE_OUT, or the default directory under Slurm. Otherwise returns an
/// empty string.
std::string known_run_directory(const config::Options& options);
/// Rank of the process and number of processes according to the launcher (torchrun, MPI or Slurm).
/// Without a launcher, this is rank 0 of one process.
struct LauncherPlace {
  std::int32_t rank = 0;
  std::int32_t size = 1;
};
LauncherPlace launcher_place();
/// Absolute path of the directory of libmegascope.so and its modules; empty if it cannot be
/// determined. Constant for the life of the process. Any thread.
const std::string& library_directory();
/// Returns the value of SLURMD_NODENAME, or the host name up to the first dot if it is not set.
std::string host_name();
std::string executable_path();
std::string command_line();

// unpacked_bytes: the size that traces would have if they were not packed. Exports do not become
// smaller by it.

/// Checks that the file system has space for the exports of `process_count` processes with
/// `unpacked_bytes` each. Called before exporting, because libotf2 ends the process when a write
/// fails.
Status check_space(const std::string& directory, std::uint64_t unpacked_bytes,
                   std::int32_t process_count);
/// Checks that the disk quota, which statvfs does not report, suffices for the exports. Reserves
/// the space temporarily, at most 16 GiB. Called by one process of a run. unpacked_bytes: sum over
/// all processes. Returns ok if the file system cannot reserve space.
Status try_space(const std::string& directory, std::uint64_t unpacked_bytes,
                 std::int32_t process_count);
/// Checks that the process can allocate the memory for an export of a trace of this size. An
/// exporter that runs out of memory would end the application.
Status check_memory(std::uint64_t unpacked_bytes);

}  // namespace megascope::run
