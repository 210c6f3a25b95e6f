#include "plugin/live/url_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::live {
namespace {

std::string path_in(const std::string& folder) { return folder + "/live_url"; }

}  // namespace

Status write_url_file(const std::string& folder, const std::string& url) {
  const std::string path = path_in(folder);
  unlink(path.c_str());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return Status::from_errno(path, errno);
  const std::string line = url + "\n";
  const bool is_private = fchmod(file, 0600) == 0;
  const bool is_written = is_private && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int problem = errno;
  close(file);
  if (is_written) return Status::ok();
  unlink(path.c_str());
  return Status::from_errno(path, problem);
}

void remove_url_file(const std::string& folder) noexcept {
  try {
    unlink(path_in(folder).c_str());
  } catch (...) {
    // No memory for a path: it stays.
  }
}

}  // namespace megascope::live
