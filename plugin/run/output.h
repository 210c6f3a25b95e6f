#pragma once

#include "core/base/status.h"
#include "core/config/options.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

/// Where a run puts its files.
namespace megascope::run {

inline constexpr mode_t
    kTextMode = 0666;  ///< of what a run directory holds beside traces, less what the umask takes

/// 16 hexadecimal digits that no other run has.
std::string make_run_id();

/// Folder for buffers on this node (core/trace/scratch.h).
std::string choose_scratch(const config::Options& options);

/// Creates a new run directory: `wanted` (made absolute), or with -2, -3 … where that exists.
/// Neither group nor others can write to it, whatever the umask; the same holds for directories
/// above it that did not exist.
Status make_run_folder(const std::string& wanted, std::string& folder);
/// Inode number of a directory; 0 where there is none, or something else, as a link to one. It
/// stays the same as long as the directory exists, whatever the directories above it are called.
std::uint64_t directory_inode(const std::string& path) noexcept;
/// MEGASCOPE_OUT, else "megascope-<job.step>" under Slurm, else "megascope-<host>-<pid>".
std::string wanted_run_folder(const config::Options& options, const std::string& host, long pid);

/// "<job>.<step>" under Slurm, else empty.
std::string slurm_job();
/// Ids of job, step and node, as Slurm set them; empty elsewhere. Values are cut at 1024 bytes.
std::vector<LauncherFact> slurm_facts();
/// Nodes of the job as Slurm writes them, "n[0-3]"; empty elsewhere.
std::string slurm_nodes();
/// The run folder that any rank can name, absolute: MEGASCOPE_OUT, or the default under Slurm; else
/// empty.
std::string known_run_folder(const config::Options& options);
/// Where a launcher says that this process stands among those that it started: of MPI, of torch, of
/// Slurm.
struct LauncherPlace {
  std::int32_t rank = 0;
  std::int32_t size = 1;
};
LauncherPlace launcher_place();
/// Where the library lies, and its modules: absolute, or empty where it cannot be told. The same
/// for as long as the process lives, whatever directory the program changes to. Any thread.
const std::string& library_folder();
/// SLURMD_NODENAME, else the host name.
std::string host_name();
std::string executable_path();
std::string command_line();

/// Is there room for exports of a run of `process_count` processes, one of which left
/// `trace_bytes`? Asked beforehand, because libotf2 ends the process when a file cannot be written
/// to its end.
Status check_room(const std::string& folder, std::uint64_t trace_bytes, std::int32_t process_count);
/// The same where a quota counts, which the file system does not tell: the room is reserved for a
/// moment, at most 16 GiB. By one process of a run. trace_bytes: of all. Where the file system
/// cannot reserve: ok.
Status try_room(const std::string& folder, std::uint64_t trace_bytes, std::int32_t process_count);
/// Is there memory for an export of a trace of this size? An exporter that runs out of it would end
/// the program.
Status check_memory(std::uint64_t trace_bytes);

}  // namespace megascope::run
