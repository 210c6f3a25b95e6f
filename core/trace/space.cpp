#include "core/trace/space.h"

#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <string_view>
#include <sys/statvfs.h>
#include <unistd.h>

namespace megascope::trace {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
constexpr std::uint64_t kShare = 16;             // of memory: 1 / kShare
constexpr std::uint64_t kReadAgainBytes = kMiB;  // reading the kernel's files takes some 50 us
constexpr std::size_t kMaxFileBytes = 8192;      // of the kernel's files

/// Returns the content of a kernel file; empty if it does not exist.
std::string content_of(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return {};
  char text[kMaxFileBytes];
  std::size_t size = 0;
  for (ssize_t got = 0;
       size < sizeof text && (got = read(file, text + size, sizeof text - size)) > 0;)
    size += static_cast<std::size_t>(got);
  close(file);
  return {text, size};
}

/// Returns the number at the beginning of `text`; unknown for "max" or other text.
std::uint64_t number_in(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? number : kUnknown;
}

/// Returns the number after `name` at the beginning of a line.
std::uint64_t field_of(std::string_view text, std::string_view name) noexcept {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return number_in(text.substr(at + name.size()));
  }
  return kUnknown;
}

std::uint64_t less(std::uint64_t from, std::uint64_t bytes) noexcept {
  return from > bytes ? from - bytes : 0;
}

/// File names of one version of cgroups.
struct CgroupFiles {
  const char* mount;  ///< mount point of the memory controller
  const char* limit;
  const char* usage;
  const char* cache;  ///< in memory.stat: inactive file pages, of the cgroup and its children
};
constexpr CgroupFiles kV1{"/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
                          "/memory.usage_in_bytes", "total_inactive_file "};
constexpr CgroupFiles kV2{"/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file "};

/// Returns what one cgroup leaves.
std::uint64_t left_in(const std::string& directory, const CgroupFiles& files) {
  const std::uint64_t limit = number_in(content_of(directory + files.limit));
  if (limit >= kUnknown / 4) return kUnknown;  // no limit: v1 writes a number near 2^63
  const std::uint64_t usage = number_in(content_of(directory + files.usage));
  if (usage == kUnknown) return kUnknown;
  const std::uint64_t cache = field_of(content_of(directory + "/memory.stat"), files.cache);
  return less(limit, less(usage, cache == kUnknown ? 0 : cache));
}

/// Returns what a cgroup and all its parents leave. In a container the path may be that outside:
/// then the mounted root is used.
std::uint64_t left_along(const std::string& root, std::string path, const CgroupFiles& files) {
  std::uint64_t left = kUnknown;
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    left = std::min(left, left_in(root + files.mount + path, files));
    if (path.empty()) return left;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

struct DiskSpace {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;  ///< 0: unknown
};
DiskSpace disk_space(const struct statvfs& info) noexcept {
  return {static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize,
          static_cast<std::uint64_t>(info.f_blocks) * info.f_frsize};
}

DiskSpace disk_space(int file) noexcept {
  struct statvfs info {};
  return fstatvfs(file, &info) == 0 ? disk_space(info) : DiskSpace{};
}

}  // namespace

std::uint64_t free_space_floor(std::uint64_t total_bytes) noexcept {
  if (total_bytes < 8 * kGiB) return total_bytes / 8;
  return std::clamp(total_bytes / 20, kGiB, 16 * kGiB);
}

std::uint64_t memory_share(std::uint64_t available_bytes, std::uint64_t held_bytes,
                           std::uint32_t local_ranks) noexcept {
  if (available_bytes == kUnknown) return kUnknown;
  return (available_bytes + held_bytes) / kShare / std::max(local_ranks, 1U);
}

std::uint64_t disk_share(const std::string& directory, std::uint32_t local_ranks) noexcept {
  struct statvfs info {};
  const DiskSpace disk = statvfs(directory.c_str(), &info) == 0 ? disk_space(info) : DiskSpace{};
  if (disk.total_bytes == 0) return kGiB;  // unlimited, as a tmpfs may be, or unknown
  const std::uint64_t free = less(disk.free_bytes, free_space_floor(disk.total_bytes));
  return std::clamp(free / 2 / std::max(local_ranks, 1U), kMiB, 1024 * kGiB);
}

std::uint64_t available_memory_bytes(const std::string& root) {
  const std::uint64_t kibibytes = field_of(content_of(root + "/proc/meminfo"), "MemAvailable:");
  std::uint64_t available = kibibytes < kUnknown / 1024 ? kibibytes * 1024 : kUnknown;
  const std::string cgroups = content_of(root +
                                         "/proc/self/cgroup");  // "0::/path", "4:memory:/path"
  for (std::size_t at = 0; at < cgroups.size();) {
    const std::size_t end = std::min(cgroups.find('\n', at), cgroups.size());
    const std::string line = cgroups.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (line.starts_with("0::"))
      available = std::min(available, left_along(root, line.substr(second + 1), kV2));
    if (controllers.find(",memory,") != std::string::npos)
      available = std::min(available, left_along(root, line.substr(second + 1), kV1));
  }
  return available;
}

void Space::limit(std::uint32_t local_ranks, Kind kind, int file, const std::string& root) {
  local_ranks_ = std::max(local_ranks, 1U);
  kind_ = kind;
  root_ = root;
  first_free_bytes_ = disk_space(file).free_bytes;
  if (kind_ == Kind::kMemory) first_share_bytes_ = share_bytes(0);
}

/// Returns the present share, which shrinks as the application takes more memory.
std::uint64_t Space::share_bytes(std::uint64_t held_bytes) const {
  if (held_bytes >= read_again_at_.load(std::memory_order_relaxed)) {
    read_again_at_.store(held_bytes + kReadAgainBytes, std::memory_order_relaxed);
    share_bytes_.store(memory_share(available_memory_bytes(root_), held_bytes, local_ranks_),
                       std::memory_order_relaxed);
  }
  return share_bytes_.load(std::memory_order_relaxed);
}

/// Returns what counts as free on the disk that reports free_bytes.
std::uint64_t Space::seen_free_bytes(std::uint64_t free_bytes,
                                     std::uint64_t held_bytes) const noexcept {
  if (kind_ != Kind::kLateDisk) return free_bytes;
  return std::min(free_bytes, less(first_free_bytes_, held_bytes * local_ranks_));
}

std::uint64_t Space::growth_bytes(const std::string& path, std::uint64_t held_bytes) const {
  if (local_ranks_ == 0) return kUnknown;
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return 0;
  const DiskSpace disk = disk_space(info);
  std::uint64_t growth = kUnknown;
  if (disk.total_bytes != 0)
    growth = less(seen_free_bytes(disk.free_bytes, held_bytes),
                  free_space_floor(disk.total_bytes)) /
             local_ranks_;
  if (kind_ != Kind::kMemory) return growth;
  const std::uint64_t share = std::min(first_share_bytes_, share_bytes(held_bytes));
  return share == kUnknown ? growth : std::min(growth, less(share, held_bytes));
}

Status Space::check_disk(int file, const std::string& path, std::uint64_t held_bytes,
                         std::uint64_t more_bytes, std::uint64_t part) const {
  const DiskSpace disk = disk_space(file);
  if (disk.total_bytes == 0) return Status::ok();  // unlimited, as a tmpfs may be, or unknown
  const std::uint64_t floor = free_space_floor(disk.total_bytes) / part;
  const std::uint64_t free = seen_free_bytes(disk.free_bytes, held_bytes);
  if (free >= floor + more_bytes * local_ranks_) return Status::ok();
  return Status::error(human_bytes(free) + " free, of which " + human_bytes(floor) +
                       " are left to the application: " + path);
}

Status Space::check(int file, const std::string& path, std::uint64_t held_bytes,
                    std::uint64_t more_bytes, Use use) const {
  if (local_ranks_ == 0) return Status::ok();
  const std::uint64_t part = use == Use::kDefinitions ? 2 : 1;
  Status status = check_disk(file, path, held_bytes, more_bytes, part);
  if (!status.is_ok() || kind_ != Kind::kMemory) return status;
  const std::uint64_t share = std::min(first_share_bytes_, share_bytes(held_bytes));
  if (share == kUnknown || held_bytes + more_bytes <= share * part) return status;
  return Status::error("a rank gets " + human_bytes(share) + " in memory (1/" +
                       std::to_string(kShare) + " of what is available for " +
                       std::to_string(local_ranks_) +
                       (local_ranks_ == 1 ? " local rank): " : " local ranks): ") + path);
}

}  // namespace megascope::trace
