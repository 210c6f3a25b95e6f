#include "plugin/run/output.h"

#include "core/base/clock.h"
#include "core/base/safe_file.h"
#include "core/base/text.h"
#include "core/config/environment.h"
#include "core/lifecycle/module_loader.h"
#include "core/trace/run_files.h"
#include "core/trace/scratch.h"

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace megascope::run {
namespace {

constexpr int kMaxDirectoryNumber = 10'000;

}  // namespace

const std::string& library_directory() {
  static const char here = 0;
  // Never destroyed: threads may use it at exit.
  static const auto* const directory = new std::string(directory_of_code(&here));
  return *directory;
}

std::string make_run_id() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
    bits = clock::monotonic_ns() * 0x9E3779B97F4A7C15U ^ static_cast<std::uint64_t>(getpid());
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(bits));
  return text;
}

std::string choose_scratch(const config::Options& options) {
  return trace::choose_scratch(options.scratch, config::environment_value("TMPDIR"));
}

std::string wanted_run_directory(const config::Options& options, const std::string& host,
                                 long pid) {
  if (!options.out.empty()) return options.out;
  const std::string job = slurm_job();
  return "megascope-" + (job.empty() ? host + "-" + std::to_string(pid) : job);
}

Status make_run_directory(const std::string& wanted, std::string& directory) {
  // The umask applies, and write permission of group and others is removed.
  constexpr mode_t kMode = 0777;
  std::string base = trace::absolute_path(wanted);
  while (base.size() > 1 && base.ends_with('/')) base.pop_back();
  const Status status = files::make_parents(base, kMode);
  if (!status.is_ok()) return status;
  for (int number = 1; number < kMaxDirectoryNumber; ++number) {
    directory = number == 1 ? base : base + "-" + std::to_string(number);
    bool exists = false;
    const Status made = files::make_directory(directory, kMode, &exists);
    if (!exists) return made;
  }
  return Status::error("cannot create a run directory: " + base + " and all numbered names up to " +
                       directory);
}

std::uint64_t directory_inode(const std::string& path) noexcept {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) ? std::uint64_t{info.st_ino} : 0;
}

std::string slurm_job() {
  const std::string job = config::environment_value("SLURM_JOB_ID");
  const std::string step = config::environment_value("SLURM_STEP_ID");
  if (job.empty() || step.empty()) return job;
  return job + "." + step;
}

std::vector<LauncherFact> slurm_facts() {
  constexpr std::size_t kMaxBytes = 1024;
  constexpr const char* kNames[] = {
      "SLURM_CLUSTER_NAME",  "SLURM_JOB_ID",       "SLURM_JOB_NAME",      "SLURM_STEP_ID",
      "SLURM_NODEID",        "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST", "SLURM_ARRAY_JOB_ID",
      "SLURM_ARRAY_TASK_ID", "SLURM_HET_SIZE",     "SLURM_HET_JOB_ID",    "SLURM_RESTART_COUNT"};
  std::vector<LauncherFact> facts;
  for (const char* name : kNames) {
    std::string value = config::environment_value(name).substr(0, kMaxBytes);
    if (!value.empty()) facts.push_back({name, std::move(value)});
  }
  return facts;
}

std::string slurm_nodes() { return config::environment_value("SLURM_JOB_NODELIST"); }

std::string known_run_directory(const config::Options& options) {
  if (options.out.empty() && slurm_job().empty()) return {};
  return trace::absolute_path(wanted_run_directory(options, host_name(), getpid()));
}

namespace {

/// The number in an environment variable; −1: not a number.
std::int32_t number_in(const char* variable) {
  const std::string text = config::environment_value(variable);
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

}  // namespace

LauncherPlace launcher_place() {
  // Innermost launcher first: torchrun may run under srun.
  constexpr const char* kVariables[][2] = {{"RANK", "WORLD_SIZE"},
                                           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : kVariables) {
    const LauncherPlace place{number_in(rank), number_in(size)};
    if (place.rank >= 0 && place.rank < place.size) return place;
  }
  return {};
}

std::string host_name() {
  const std::string node = config::environment_value("SLURMD_NODENAME");
  if (!node.empty()) return node;
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string host(name);
  return host.substr(0, host.find('.'));
}

std::string executable_path() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::string line = text.str();
  while (!line.empty() && line.back() == '\0') line.pop_back();
  for (char& c : line) {
    if (c == '\0') c = ' ';
  }
  constexpr std::size_t kMaxLength = 4096;
  return line.substr(0, kMaxLength);
}

namespace {

/// Estimated size of the exports of `process_count` processes with so many bytes of trace, if none
/// were packed: all of them together. A 16-byte call becomes two OTF2 events of 12 bytes, a 32-byte
/// call becomes five; a Perfetto slice takes about 60 bytes.
std::uint64_t export_bytes(std::uint64_t unpacked_bytes, std::int32_t process_count) {
  constexpr std::uint64_t kGrowth = 4;
  constexpr std::uint64_t kBaseBytes = std::uint64_t{4} << 20;
  return unpacked_bytes * kGrowth + kBaseBytes * static_cast<std::uint64_t>(process_count);
}

bool is_in_memory(const std::string& directory) {
  constexpr decltype(statfs::f_type) kTmpfs = 0x01021994;
  struct statfs info {};
  return statfs(directory.c_str(), &info) != 0 || info.f_type == kTmpfs;
}

}  // namespace

Status try_space(const std::string& directory, std::uint64_t unpacked_bytes,
                 std::int32_t process_count) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 30;
  // Tmpfs has no quota, and reserving would consume memory.
  if (is_in_memory(directory)) return Status::ok();
  std::uint64_t bytes = std::min(export_bytes(unpacked_bytes, process_count), kMaxBytes);
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
  // Nameless: the space is freed even if this process crashes.
  files::Descriptor file;
  const Status status = files::create_nameless(directory, file);
  if (!status.is_ok()) return status;
  const int error = fallocate(file.number(), 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (error != ENOSPC && error != EDQUOT) return Status::ok();
  return Status::from_errno("cannot reserve " + human_bytes(bytes) + " in " + directory, error);
}

Status check_space(const std::string& directory, std::uint64_t unpacked_bytes,
                   std::int32_t process_count) {
  const std::uint64_t own = export_bytes(unpacked_bytes, 1);
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < own) {
    return Status::error(
        "the process's file-size limit (ulimit -f) may be too small for the export");
  }
  struct statvfs info {};
  const std::uint64_t needed = own * static_cast<std::uint64_t>(process_count);
  if (statvfs(directory.c_str(), &info) == 0 &&
      std::uint64_t{info.f_bavail} * info.f_frsize < needed) {
    return Status::error("cannot export: less than " + human_bytes(needed) + " is free in " +
                         directory);
  }
  return Status::ok();
}

Status check_memory(std::uint64_t unpacked_bytes) {
  // The trace is mapped, packed; a message needs up to 16 bytes for its id; an export record is up
  // to twice as large as the call.
  constexpr std::uint64_t kGrowth = 3;
  constexpr std::uint64_t kBaseBytes = std::uint64_t{96} << 20;
  const std::uint64_t needed = unpacked_bytes * kGrowth + kBaseBytes;
  void* memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return Status::error("cannot export: less than " + human_bytes(needed) +
                         " of memory can be allocated");
  munmap(memory, needed);
  return Status::ok();
}

}  // namespace megascope::run
