#include "plugin/run/exit_line.h"

#include <unistd.h>

#include <atomic>

#include "core/base/standard_error.h"

namespace megascope::run::exit_line {
namespace {

// Plain memory that no destructor takes away: exit() may be called while other threads, or a signal handler's victim, are anywhere.
std::atomic<const std::string*> current{nullptr};
std::atomic<pid_t> process{0};  ///< that is to write it; 0: none

/// A destructor of the library, which runs after handlers of atexit() and the program's static objects: one of them may call MPI_Finalize.
[[gnu::destructor]] void write_at_exit() noexcept {
  const std::string* const line = current.load();
  if (line != nullptr && process.load() == getpid()) standard_error::write(*line);
}

}  // namespace

void set(const std::string& line) {
  if (current.load() == nullptr) current.store(new std::string("megascope: " + line + "\n"));
  process.store(getpid());
}

void clear() noexcept { process.store(0); }

}  // namespace megascope::run::exit_line
