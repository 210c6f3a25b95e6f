#include "plugin/run/leftovers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/base/safe_file.h"
#include "core/trace/layout.h"
#include "core/trace/private_scratch.h"

namespace megascope::run {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 1024;

/// A trace, or what else lies where traces do.
struct Found {
  std::string path;
  std::uint64_t bytes;  ///< on disk
};

void find_in(const fs::path& folder, std::vector<Found>& found) {
  constexpr std::uint64_t kBlockBytes = 512;
  std::error_code error;
  for (auto file = fs::directory_iterator(folder, error); !error && file != fs::directory_iterator() && found.size() < kMaxEntries; file.increment(error)) {
    struct stat info {};
    const bool is_file = lstat(file->path().c_str(), &info) == 0 && S_ISREG(info.st_mode);
    if (is_file) found.push_back({file->path().string(), static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes});
  }
}

std::uint64_t sum_of(const std::vector<Found>& found) {
  std::uint64_t sum = 0;
  for (const Found& one : found) sum += one.bytes;
  return sum;
}

/// Is the process gone that wrote it? Another one may have got its number: then the trace does not count, which harms nobody.
bool is_left(const Found& one) {
  files::Descriptor file;
  trace::FileHeader header{};
  if (!files::open_existing(one.path, O_RDONLY, files::Owner::kThisUser, file).is_ok()) return false;
  if (pread(file.number(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) || header.pid <= 0) return false;
  return kill(static_cast<pid_t>(header.pid), 0) != 0 && errno == ESRCH;
}

}  // namespace

std::uint64_t leftover_bytes(const std::string& scratch, const std::string& own_folder, std::uint64_t min_bytes) {
  std::vector<Found> found;
  for (const std::string& folder : trace::private_scratch_folders(scratch, kMaxEntries)) {
    std::error_code error;
    std::size_t count = 0;
    for (auto run = fs::directory_iterator(folder, error); !error && run != fs::directory_iterator() && ++count < kMaxEntries; run.increment(error)) {
      if (run->path() != own_folder) find_in(run->path(), found);
    }
  }
  if (sum_of(found) <= min_bytes) return 0;
  std::erase_if(found, [](const Found& one) { return !is_left(one); });
  return sum_of(found);
}

}  // namespace megascope::run
