#include "core/base/text.h"
#include "core/config/environment.h"
#include "core/trace/chunk_store.h"
#include "core/trace/scratch.h"
#include "core/trace/space.h"
#include "plugin/cli/doctor/checks.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/statvfs.h>
#include <unistd.h>

/// Checks of the locations of buffers and run directories.
namespace megascope::cli {
namespace {

constexpr std::uint64_t kLittleSpace = std::uint64_t{64} << 20;

/// The type of the file system of an existing directory, as `mount` prints it; empty: unknown.
std::string file_system_of(const std::string& directory) {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string best_type;
  std::size_t best_length = 0;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string field;
    std::string point;
    for (int i = 0; i < 5; ++i) fields >> point;
    const bool is_inside = point == "/" || directory == point || directory.starts_with(point + "/");
    const std::size_t tail = line.find(" - ");
    if (!is_inside || point.size() < best_length || tail == std::string::npos) continue;
    best_length = point.size();
    best_type = line.substr(tail + 3, line.find(' ', tail + 3) - tail - 3);
  }
  return best_type;
}

bool is_any_of(std::string_view type, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), type) != names.end();
}
bool is_memory(std::string_view type) { return is_any_of(type, {"tmpfs", "ramfs"}); }
bool is_shared(std::string_view type) {
  return is_any_of(type, {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3",
                          "pvfs2", "orangefs", "panfs", "wekafs", "9p", "afs", "gfs2", "ocfs2"}) ||
         type.starts_with("fuse.");
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs info {};
  return statvfs(directory.c_str(), &info) == 0 ? std::uint64_t{info.f_bavail} * info.f_frsize : 0;
}

/// `path`, or its nearest existing parent directory.
std::string existing_part(std::string path) {
  while (path.size() > 1 && access(path.c_str(), F_OK) != 0)
    path = path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
  return path;
}

bool spans_nodes() {
  for (const char* name : {"SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
    if (parse_count(config::environment_value(name)).value_or(1) > 1) return true;
  }
  return false;
}

}  // namespace

Findings check_scratch(const config::Options& options) {
  const std::string directory = trace::choose_scratch(options.scratch,
                                                      config::environment_value("TMPDIR"));
  if (!trace::is_writable_directory(directory)) {
    return {{Verdict::kProblem, "scratch",
             directory + " is not a writable directory: no trace will be recorded",
             "Set MEGASCOPE_SCRATCH to a directory that exists on every node."}};
  }
  const std::string type = file_system_of(directory);
  const std::uint64_t space = free_bytes(directory);
  const std::uint64_t cores = std::uint64_t(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const std::uint64_t most = options.buffer_size_bytes != 0
                                 ? options.buffer_size_bytes
                                 : trace::disk_share(directory, static_cast<std::uint32_t>(cores));
  const std::string text = directory + " (" + type + "), " + human_bytes(space) +
                           " free; a rank uses up to " + human_bytes(most);
  Finding finding{Verdict::kOk, "scratch", text, ""};
  if (space < most) {
    finding.text += ": recording stops when it is full";
    finding.verdict = space < kLittleSpace || !options.scratch.empty() ? Verdict::kProblem
                                                                       : Verdict::kNote;
    finding.remedy =
        "Set MEGASCOPE_SCRATCH to a directory with more space, or MEGASCOPE_BUFFER_SIZE below the "
        "space "
        "per rank of a node.";
  } else if (space / most < cores) {
    finding.verdict = Verdict::kNote;
    finding.text += ": space for " + std::to_string(space / most) +
                    (space / most == 1 ? " full rank" : " full ranks") + ", this node has " +
                    std::to_string(cores) + " cores";
    finding.remedy =
        "If ranks fill their buffers: use MEGASCOPE_BUFFER_POLICY=flight with a smaller "
        "MEGASCOPE_BUFFER_SIZE, or provide more space.";
  } else if (is_memory(type)) {
    finding.verdict = Verdict::kNote;
    finding.text += "; it uses memory that the program may need, and is lost when the node reboots";
  } else if (is_shared(type)) {
    finding.verdict = Verdict::kNote;
    finding.text += "; a local disk is faster and preserves every call of a killed run";
  }
  return {finding};
}

Findings check_run_directory(const config::Options& options) {
  const std::filesystem::path wanted = trace::absolute_path(options.out.empty() ? "."
                                                                                : options.out);
  std::string directory = existing_part(wanted.lexically_normal().string());
  if (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  const std::string type = file_system_of(directory);
  const std::string text = "in " + directory + " (" + type + "), " +
                           human_bytes(free_bytes(directory)) + " free";
  if (!trace::is_writable_directory(directory)) {
    return {{Verdict::kProblem, "directory",
             directory + " is not writable: traces will stay in the scratch directory",
             "Set MEGASCOPE_OUT to a writable directory."}};
  }
  if (is_shared(type)) return {{Verdict::kOk, "directory", text + ", shared", ""}};
  if (!spans_nodes())
    return {{Verdict::kOk, "directory", text + "; visible on this machine only", ""}};
  return {{Verdict::kProblem, "directory",
           text + " is visible on this node only: traces of other nodes will stay there",
           "Set MEGASCOPE_OUT to a directory shared by all nodes, or combine the traces afterwards "
           "with "
           "`megascope join`."}};
}

}  // namespace megascope::cli
