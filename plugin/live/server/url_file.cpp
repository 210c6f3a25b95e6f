#include "plugin/live/server/url_file.h"

#include "core/base/safe_file.h"

#include <unistd.h>

namespace megascope::live {
namespace {

std::string path_in(const std::string& directory) { return directory + "/live_url"; }

}  // namespace

Status write_url_file(const std::string& directory, const std::string& url) {
  constexpr mode_t kOnlyOwner = 0600;
  const std::string path = path_in(directory);
  files::FreshFile file;
  Status status = file.create(path, kOnlyOwner);
  if (status.is_ok()) status = files::write_all(file.number(), url + "\n", path);
  if (status.is_ok()) status = file.publish(files::FreshFile::Existing::kReplace);
  return status;
}

void remove_url_file(const std::string& directory) noexcept {
  try {
    unlink(path_in(directory).c_str());
  } catch (...) {
    // Out of memory for the path: the file stays.
  }
}

}  // namespace megascope::live
