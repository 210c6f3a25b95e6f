#include "core/trace/scratch.h"

#include "core/trace/chunk_store.h"

#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace megascope::trace {

bool is_writable_directory(const std::string& directory_path) {
  struct stat info {};
  return !directory_path.empty() && stat(directory_path.c_str(), &info) == 0 &&
         S_ISDIR(info.st_mode) && access(directory_path.c_str(), W_OK | X_OK) == 0;
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

std::string choose_scratch(const std::string& wanted, const std::string& temporary) {
  if (!wanted.empty()) return absolute_path(wanted);
  const std::string candidates[] = {temporary, "/tmp", "/var/tmp"};
  for (const std::string& directory_path : candidates) {
    if (is_writable_directory(directory_path) && is_local_disk(directory_path))
      return absolute_path(directory_path);
  }
  return is_writable_directory("/dev/shm") ? "/dev/shm" : "/tmp";
}

}  // namespace megascope::trace
