#include "core/trace/scratch.h"

#include "core/trace/chunk_store.h"

#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace megascope::trace {

bool is_writable_folder(const std::string& folder) {
  struct stat info {};
  return !folder.empty() && stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         access(folder.c_str(), W_OK | X_OK) == 0;
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

std::string choose_scratch(const std::string& wanted, const std::string& temporary) {
  if (!wanted.empty()) return absolute_path(wanted);
  const std::string candidates[] = {temporary, "/tmp", "/var/tmp"};
  for (const std::string& folder : candidates) {
    if (is_writable_folder(folder) && is_local_disk(folder)) return absolute_path(folder);
  }
  return is_writable_folder("/dev/shm") ? "/dev/shm" : "/tmp";
}

}  // namespace megascope::trace
