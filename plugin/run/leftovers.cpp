#include "plugin/run/leftovers.h"

#include "core/base/safe_file.h"
#include "core/trace/layout.h"
#include "core/trace/liveness.h"
#include "core/trace/scratch_home.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace megascope::run {
namespace {

constexpr std::size_t kMaxEntries = 1024;

/// Space that a regular file takes on disk; 0 for anything else.
std::uint64_t bytes_of(const files::Base& directory, const std::string& name) {
  constexpr std::uint64_t kBlockBytes = 512;
  struct stat info {};
  const bool is_file = fstatat(directory.directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) ==
                           0 &&
                       S_ISREG(info.st_mode);
  return is_file ? static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes : 0;
}

/// Takes no lease on the file, because breaking a lease could send a signal to the application.
bool is_writer_gone(const files::Base& directory, const std::string& name) {
  files::Descriptor file;
  trace::FileHeader header{};
  if (!files::open_existing(directory, name, O_RDONLY, files::Owner::kThisUser, file).is_ok())
    return false;
  if (pread(file.number(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header))
    return false;
  ProcessInfo writer;
  writer.pid = header.pid;
  writer.identity = trace::identity_in(header);
  return trace::liveness_of(writer) == trace::Liveness::kGone;
}

/// Sums the bytes of the files for which is_counted(directory, name) holds. Examines at most
/// kMaxEntries files.
template <class Predicate>
std::uint64_t bytes_below(const std::string& scratch, const std::string& own_directory,
                          Predicate is_counted) {
  std::uint64_t sum = 0;
  std::size_t count = 0;
  std::vector<std::string> ignored;
  for (const trace::OpenDirectory& home :
       trace::open_scratch_homes(scratch, ignored, kMaxEntries)) {
    for (const std::string& run_id : files::names_in(home.base(), kMaxEntries)) {
      trace::OpenDirectory run;
      const bool is_own = home.path + "/" + run_id == own_directory;
      if (is_own || !trace::open_scratch_run(home.base(), run_id, run, ignored)) continue;
      for (const std::string& name : files::names_in(run.base(), kMaxEntries)) {
        if (++count > kMaxEntries) return sum;
        if (is_counted(run.base(), name)) sum += bytes_of(run.base(), name);
      }
    }
  }
  return sum;
}

}  // namespace

std::uint64_t leftover_bytes(const std::string& scratch, const std::string& own_directory,
                             std::uint64_t min_bytes) {
  const auto any = [](const files::Base&, const std::string&) { return true; };
  if (bytes_below(scratch, own_directory, any) <= min_bytes) return 0;
  return bytes_below(scratch, own_directory, is_writer_gone);
}

}  // namespace megascope::run
