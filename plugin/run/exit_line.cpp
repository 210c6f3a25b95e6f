#include "plugin/run/exit_line.h"

#include "core/base/safe_file.h"
#include "core/base/standard_error.h"
#include "exporters/report/table.h"

#include <atomic>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::run::exit_line {
namespace {

struct Line {
  std::string text;
  std::string folder;
};

// Plain memory that no destructor takes away: exit() may be called while other threads, or what a
// signal interrupted, are anywhere.
std::atomic<const Line*> current{nullptr};
std::atomic<pid_t> process{0};  ///< that is to write it; 0: none

/// System calls only.
bool is_first_of(const char* folder) noexcept {
  const files::Descriptor directory(open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  // Who has the lock is about to write the line.
  if (!directory.is_open() || flock(directory.number(), LOCK_EX | LOCK_NB) != 0 ||
      fstat(directory.number(), &info) != 0)
    return false;
  return (info.st_mode & S_ISVTX) == 0 &&
         fchmod(directory.number(), (info.st_mode & 0777) | S_ISVTX) == 0;
}

/// A destructor of the library, which runs after handlers of atexit() and the program's static
/// objects: one of them may call MPI_Finalize.
[[gnu::destructor]] void write_at_exit() noexcept {
  const Line* const line = current.load();
  if (line != nullptr && process.load() == getpid() && is_first_of(line->folder.c_str()))
    standard_error::write(line->text);
}

}  // namespace

void set(const std::string& line, const std::string& folder) {
  if (current.load() == nullptr)
    current.store(new Line{"megascope: " + report::printable(line, line.size()) + "\n", folder});
  process.store(getpid());
}

void clear() noexcept { process.store(0); }

}  // namespace megascope::run::exit_line
