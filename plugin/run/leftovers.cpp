#include "plugin/run/leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/base/safe_file.h"
#include "core/trace/layout.h"
#include "core/trace/private_scratch.h"

namespace megascope::run {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 4096;

/// Space of one trace; 0 where a process has the number of the one that wrote it: it may still be that.
std::uint64_t bytes_of(const std::string& path) {
  constexpr std::uint64_t kBlockBytes = 512;
  files::Descriptor file;
  struct stat info {};
  trace::FileHeader header{};
  if (!files::open_existing(path, O_RDONLY, files::Owner::kThisUser, file).is_ok() || fstat(file.number(), &info) != 0) return 0;
  if (pread(file.number(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) || header.pid <= 0) return 0;
  const bool is_gone = kill(static_cast<pid_t>(header.pid), 0) != 0 && errno == ESRCH;
  return is_gone ? static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes : 0;
}

}  // namespace

std::uint64_t leftover_bytes(const std::string& scratch, const std::string& own_folder) {
  std::uint64_t sum = 0;
  std::size_t count = 0;
  for (const std::string& folder : trace::private_scratch_folders(scratch, kMaxEntries)) {
    std::error_code error;
    for (auto run = fs::directory_iterator(folder, error); !error && run != fs::directory_iterator(); run.increment(error)) {
      if (run->path() == own_folder) continue;
      std::error_code unreadable;
      for (auto file = fs::directory_iterator(run->path(), unreadable); !unreadable && file != fs::directory_iterator(); file.increment(unreadable)) {
        if (++count > kMaxEntries) return sum;
        sum += bytes_of(file->path().string());
      }
    }
  }
  return sum;
}

}  // namespace megascope::run
