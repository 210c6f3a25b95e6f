#include "plugin/run/leftovers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/safe_file.h"
#include "core/trace/layout.h"
#include "core/trace/liveness.h"
#include "core/trace/scratch_home.h"

namespace megascope::run {
namespace {

constexpr std::size_t kMaxEntries = 4096;

/// Space of one trace; 0 unless its process is known to be gone. Takes no lease on the file: a signal that breaks one could reach
/// the application.
std::uint64_t bytes_of(const files::Base& directory, const std::string& name) {
  constexpr std::uint64_t kBlockBytes = 512;
  files::Descriptor file;
  struct stat info {};
  trace::FileHeader header{};
  if (!files::open_existing(directory, name, O_RDONLY, files::Owner::kThisUser, file).is_ok() || fstat(file.number(), &info) != 0) return 0;
  if (pread(file.number(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) return 0;
  ProcessInfo writer;
  writer.pid = header.pid;
  writer.identity = trace::identity_in(header);
  return trace::liveness_of(writer) == trace::Liveness::kGone ? static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes : 0;
}

}  // namespace

std::uint64_t leftover_bytes(const std::string& scratch, const std::string& own_folder) {
  std::uint64_t sum = 0;
  std::size_t count = 0;
  std::vector<std::string> ignored;
  for (const trace::OpenDirectory& home : trace::open_scratch_homes(scratch, ignored)) {
    for (const std::string& run_id : files::names_in(home.base(), kMaxEntries)) {
      trace::OpenDirectory run;
      if (home.path + "/" + run_id == own_folder || !trace::open_scratch_run(home.base(), run_id, run, ignored)) continue;
      for (const std::string& name : files::names_in(run.base(), kMaxEntries)) {
        if (++count > kMaxEntries) return sum;
        sum += bytes_of(run.base(), name);
      }
    }
  }
  return sum;
}

}  // namespace megascope::run
