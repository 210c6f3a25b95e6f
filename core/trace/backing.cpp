#include "core/trace/chunk_store.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <sys/vfs.h>

namespace megascope::trace {
namespace {

// statfs(2) f_type values.
constexpr std::uint32_t kExt = 0xEF53;
constexpr std::uint32_t kXfs = 0x58465342;
constexpr std::uint32_t kF2fs = 0xF2F52010;
constexpr std::uint32_t kJfs = 0x3153464A;
constexpr std::uint32_t kBtrfs = 0x9123683E;
constexpr std::uint32_t kZfs = 0x2FC12FC1;
constexpr std::uint32_t kBcachefs = 0xCA451A4E;
constexpr std::uint32_t kTmpfs = 0x01021994;
constexpr std::uint32_t kRamfs = 0x858458F6;
constexpr std::uint32_t kOverlay = 0x794C7630;

std::uint32_t file_system_of(const std::string& directory_path) {
  struct statfs info {};
  if (statfs(directory_path.c_str(), &info) != 0) return 0;
  return static_cast<std::uint32_t>(info.f_type);
}

/// Returns the file system below an overlay: that of its upper directory; ext if that directory is
/// not visible here.
std::uint32_t overlay_upper(const std::string& directory_path) {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string best_upper;
  std::size_t best_length = 0;
  for (std::string line; std::getline(mounts, line);) {
    std::string fields[5];
    std::size_t at = 0;
    for (std::string& field : fields) {
      const std::size_t end = line.find(' ', at);
      if (end == std::string::npos) break;
      field = line.substr(at, end - at);
      at = end + 1;
    }
    const std::string& mount_point = fields[4];
    const std::size_t upper = line.find("upperdir=");
    if (upper == std::string::npos || !directory_path.starts_with(mount_point) ||
        mount_point.size() < best_length)
      continue;
    best_length = mount_point.size();
    best_upper = line.substr(upper + 9, line.find_first_of(", ", upper) - upper - 9);
  }
  const std::uint32_t type = best_upper.empty() ? 0 : file_system_of(best_upper);
  return type == 0 || type == kOverlay ? kExt : type;
}

std::uint32_t effective_file_system(const std::string& directory_path) {
  const std::uint32_t type = file_system_of(directory_path);
  return type == kOverlay ? overlay_upper(directory_path) : type;
}

}  // namespace

Backing backing_for(const std::string& directory_path) {
  const std::uint32_t type = effective_file_system(directory_path);
  const bool is_mappable = type == kExt || type == kXfs || type == kF2fs || type == kJfs ||
                           type == kTmpfs || type == kRamfs;
  return is_mappable ? Backing::kMapped : Backing::kWritten;
}

bool is_local_disk(const std::string& directory_path) {
  const std::uint32_t type = effective_file_system(directory_path);
  return type == kExt || type == kXfs || type == kF2fs || type == kJfs || type == kBtrfs ||
         type == kZfs || type == kBcachefs;
}

bool is_in_memory(const std::string& directory_path) {
  const std::uint32_t type = effective_file_system(directory_path);
  return type == kTmpfs || type == kRamfs;
}

}  // namespace megascope::trace
