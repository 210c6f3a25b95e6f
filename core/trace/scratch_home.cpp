#include "core/trace/scratch_home.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fcntl.h>
#include <new>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::trace {
namespace {

constexpr std::size_t kMaxProblems = 8;
constexpr mode_t kPrivate = 0700;
constexpr std::string_view
    kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::size_t kLetterCount = 6;  // as mkdtemp

bool is_absent(const files::Base& base, const std::string& name) {
  struct stat info {};
  return fstatat(base.directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 &&
         (errno == ENOENT || errno == ENOTDIR);
}

bool open_one(const files::Base& base, const std::string& name, OpenDirectory& result,
              std::vector<std::string>& problems) {
  if (is_absent(base, name)) return false;
  const Status status = files::open_private_directory(base, name, result.opened);
  if (!status.is_ok() && !is_absent(base, name) && problems.size() < kMaxProblems)
    problems.push_back(status.message());
  result.path = base.path.empty() ? name : base.path + "/" + name;
  return status.is_ok();
}

std::string common_name() { return "megascope-" + std::to_string(geteuid()); }

/// Derives the suffix from 36 of the 64 bits of the run id, a hexadecimal number. Returns false if
/// it is not one.
bool home_of_one_run(const std::string& run_id, std::string& name) {
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(run_id.data(), run_id.data() + run_id.size(), bits, 16);
  if (error != std::errc{} || end != run_id.data() + run_id.size()) return false;
  name = common_name() + ".";
  for (std::size_t i = 0; i < kLetterCount; ++i, bits /= kLetters.size())
    name += kLetters[bits % kLetters.size()];
  return true;
}

/// Returns whether the name is `megascope-<uid>.XXXXXX`.
bool is_home_of_one_run(std::string_view name) {
  const std::string common = common_name() + ".";
  return name.starts_with(common) && name.size() == common.size() + kLetterCount &&
         name.find_first_not_of(kLetters, common.size()) == std::string_view::npos;
}

/// Creates or checks a private directory. is_taken: the name belongs to something that is not
/// private to this user.
Status make_private(const std::string& directory_path, bool& is_taken) {
  Status status = files::make_directory(directory_path, kPrivate, &is_taken);
  if (!is_taken) return status;
  files::Descriptor directory;
  status = files::open_private_directory(directory_path, directory);
  is_taken = !status.is_ok();
  return status;
}

}  // namespace

bool is_scratch_home_name(std::string_view name) {
  return name == common_name() || is_home_of_one_run(name);
}

Status make_scratch_directory(const std::string& scratch, const std::string& run_id,
                              std::string& directory_path) {
  std::string parent = scratch + "/" + common_name();
  std::string own_name;
  bool is_taken = false;
  Status status = make_private(parent, is_taken);
  if (is_taken && home_of_one_run(run_id, own_name)) {
    parent = scratch + "/" + own_name;
    const Status of_run = make_private(parent, is_taken);
    if (of_run.is_ok()) status = of_run;
  }
  directory_path = parent + "/" + run_id;
  return status.is_ok() ? make_private(directory_path, is_taken) : status;
}

void remove_scratch_directory(const std::string& directory_path) noexcept {
  ::rmdir(directory_path.c_str());
  const std::size_t end = directory_path.rfind('/');
  if (end == std::string::npos) return;
  const std::size_t begin = directory_path.rfind('/', end - 1);
  try {
    const std::string parent = directory_path.substr(0, end);
    if (begin != std::string::npos && is_home_of_one_run(parent.substr(begin + 1)))
      ::rmdir(parent.c_str());
  } catch (const std::bad_alloc&) {
    // An empty directory stays.
  }
}

std::vector<OpenDirectory> open_scratch_homes(const std::string& scratch,
                                              std::vector<std::string>& problems,
                                              std::size_t max_entries) {
  std::vector<OpenDirectory> homes;
  const auto add = [&](const files::Base& base, const std::string& name) {
    OpenDirectory home;
    if (open_one(base, name, home, problems)) homes.push_back(std::move(home));
  };
  if (is_scratch_home_name(std::string_view(scratch).substr(scratch.rfind('/') + 1)))
    add(files::current_directory(), scratch);
  const std::string plain = scratch + "/" + common_name();
  add(files::current_directory(), plain);
  for (const std::string& name : files::names_in(scratch, max_entries)) {
    const std::string path = scratch + "/" + name;
    if (is_scratch_home_name(name) && path != plain) add(files::current_directory(), path);
  }
  return homes;
}

bool open_scratch_run(const files::Base& home, const std::string& run_id, OpenDirectory& result,
                      std::vector<std::string>& problems) {
  return open_one(home, run_id, result, problems);
}

}  // namespace megascope::trace
