#include "core/trace/scratch_home.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace megascope::trace {
namespace {

constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::size_t kMaxProblems = 8;

bool is_absent(const files::Base& base, const std::string& name) {
  struct stat info {};
  return fstatat(base.directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool open_one(const files::Base& base, const std::string& name, OpenDirectory& result, std::vector<std::string>& problems) {
  if (is_absent(base, name)) return false;
  const Status status = files::open_private_directory(base, name, result.opened);
  if (!status.is_ok() && !is_absent(base, name) && problems.size() < kMaxProblems) problems.push_back(status.message());
  result.path = base.path.empty() ? name : base.path + "/" + name;
  return status.is_ok();
}

/// "megascope-<uid>", and that with what mkdtemp adds to "megascope-<uid>.XXXXXX".
bool is_home_name(std::string_view name) {
  constexpr std::size_t kAddedBytes = 7;
  const std::string plain = "megascope-" + std::to_string(geteuid());
  if (!name.starts_with(plain)) return false;
  name.remove_prefix(plain.size());
  return name.empty() || (name.size() == kAddedBytes && name.front() == '.');
}

}  // namespace

std::vector<OpenDirectory> open_scratch_homes(const std::string& scratch, std::vector<std::string>& problems) {
  std::vector<OpenDirectory> homes;
  const auto add = [&](const files::Base& base, const std::string& name) {
    OpenDirectory home;
    if (open_one(base, name, home, problems)) homes.push_back(std::move(home));
  };
  if (is_home_name(std::string_view(scratch).substr(scratch.rfind('/') + 1))) add(files::current_directory(), scratch);
  const std::string plain = scratch + "/megascope-" + std::to_string(geteuid());
  add(files::current_directory(), plain);
  for (const std::string& name : files::names_in(scratch, kMaxEntries)) {
    const std::string path = scratch + "/" + name;
    if (is_home_name(name) && path != plain) add(files::current_directory(), path);
  }
  return homes;
}

bool open_scratch_run(const files::Base& home, const std::string& run_id, OpenDirectory& result, std::vector<std::string>& problems) {
  return open_one(home, run_id, result, problems);
}

}  // namespace megascope::trace
