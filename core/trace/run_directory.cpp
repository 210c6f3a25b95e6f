#include "core/trace/run_directory.h"

#include "core/trace/run_files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace megascope::trace {
namespace {

constexpr std::size_t kMaxEntries = 1'000'000;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;

int open_retried(int directory, const std::string& name, int flags) {
  int opened = -1;
  do {
    opened = ::openat(directory, name.c_str(), flags);
  } while (opened < 0 && errno == EINTR);
  return opened;
}

void visit_traces_in(const OpenDirectory& directory,
                     const std::function<void(const files::Base&, const std::string&)>& visit) {
  for (const std::string& name : files::names_in(directory.base(), kMaxEntries)) {
    if (is_trace_file_name(name)) visit(directory.base(), name);
  }
}

}  // namespace

Status open_given_directory(const std::string& path, OpenDirectory& result) {
  result.path = path.substr(0, path.find_last_not_of('/') + 1);
  result.opened = files::Descriptor(open_retried(AT_FDCWD, path, kDirectory));
  if (result.opened.is_open()) return Status::ok();
  if (errno == ENOENT || errno == ENOTDIR) return Status::error(path + " is not a directory");
  return Status::from_errno("cannot open " + path, errno);
}

Status open_inner_directory(const OpenDirectory& parent, const std::string& name,
                            const OpenDirectory& like, OpenDirectory& result) {
  struct stat wanted {};
  struct stat found {};
  result.path = parent.path + "/" + name;
  result.opened = files::Descriptor(
      open_retried(parent.opened.number(), name, kDirectory | O_NOFOLLOW));
  if (!result.opened.is_open()) return Status::from_errno("cannot open " + result.path, errno);
  const bool is_of_owner = fstat(like.opened.number(), &wanted) == 0 &&
                           fstat(result.opened.number(), &found) == 0 &&
                           wanted.st_uid == found.st_uid;
  return is_of_owner ? Status::ok()
                     : Status::error("cannot use " + result.path +
                                     ": it belongs to another user than " + like.path);
}

void for_each_standalone_directory(const OpenDirectory& run,
                                   const std::function<void(const OpenDirectory&)>& visit) {
  for (const std::string& name : files::names_in(run.base(), kMaxEntries)) {
    OpenDirectory standalone;
    if (name.starts_with(kStandaloneDirectoryPrefix) &&
        open_inner_directory(run, name, run, standalone).is_ok())
      visit(standalone);
  }
}

void for_each_trace(const OpenDirectory& run,
                    const std::function<void(const files::Base&, const std::string&)>& visit) {
  visit_traces_in(run, visit);
  for_each_standalone_directory(
      run, [&](const OpenDirectory& standalone) { visit_traces_in(standalone, visit); });
}

}  // namespace megascope::trace
