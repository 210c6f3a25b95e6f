#include "plugin/run/exit_line.h"

#include "core/base/safe_file.h"
#include "core/base/standard_error.h"
#include "core/base/text_table.h"

#include <atomic>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::run::exit_line {
namespace {

struct Line {
  std::string text;
  std::string directory_path;
};

// Plain memory without a destructor: exit() may run while other threads, or a function interrupted
// by a signal, are anywhere.
std::atomic<const Line*> current{nullptr};
std::atomic<pid_t> process{0};  ///< process that writes the line; 0: none

/// Uses only system calls.
bool is_first_of(const char* directory_path) noexcept {
  const files::Descriptor directory(
      open(directory_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  // The process that holds the lock is about to write the line.
  if (!directory.is_open() || flock(directory.number(), LOCK_EX | LOCK_NB) != 0 ||
      fstat(directory.number(), &info) != 0)
    return false;
  return (info.st_mode & S_ISVTX) == 0 &&
         fchmod(directory.number(), (info.st_mode & 0777) | S_ISVTX) == 0;
}

/// A destructor of the library. It runs after atexit() handlers and destructors of the application,
/// one of which may call MPI_Finalize.
[[gnu::destructor]] void write_at_exit() noexcept {
  const Line* const line = current.load();
  if (line != nullptr && process.load() == getpid() && is_first_of(line->directory_path.c_str()))
    standard_error::write(line->text);
}

}  // namespace

void set(const std::string& line, const std::string& directory_path) {
  if (current.load() == nullptr)
    current.store(new Line{"megascope: " + printable(line, line.size()) + "\n", directory_path});
  process.store(getpid());
}

void clear() noexcept { process.store(0); }

}  // namespace megascope::run::exit_line
