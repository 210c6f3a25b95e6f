#include "core/trace/file_writes.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace megascope::trace {

bool exceeds_file_size_limit(std::uint64_t end) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur;
}

Status file_size_error(const std::string& path) {
  return Status::error("cannot extend " + path +
                       ": the process's file-size limit (ulimit -f) is reached");
}

bool write_all(int file, const void* from, std::size_t bytes, std::uint64_t offset) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t written = pwrite(file, at, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    at += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool allocate(int file, int mode, std::uint64_t offset, std::uint64_t bytes) {
  int rc = 0;
  do {
    rc = fallocate(file, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (rc != 0 && errno == EINTR);
  return rc == 0;
}

}  // namespace megascope::trace
