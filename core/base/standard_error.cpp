#include "core/base/standard_error.h"

#include "core/base/no_cancel.h"
#include "core/base/write_signals.h"

#include <sys/stat.h>
#include <unistd.h>

namespace megascope::standard_error {
namespace {

/// Identifies an open file, so that another file with the same descriptor number is recognised.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  mode_t type = 0;
  bool is_open = false;
};

Identity now() noexcept {
  struct stat info {};
  if (fstat(STDERR_FILENO, &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_mode & S_IFMT, true};
}

Identity at_load;

/// Runs before main: the application may replace descriptor 2 later.
[[gnu::constructor]] void remember() noexcept { at_load = now(); }

}  // namespace

bool is_unchanged() noexcept {
  const Identity one = now();
  return one.is_open && at_load.is_open && one.device == at_load.device &&
         one.inode == at_load.inode && one.type == at_load.type;
}

bool is_terminal() noexcept { return is_unchanged() && isatty(STDERR_FILENO) == 1; }

void write(std::string_view text) noexcept {
  const NoCancel no_cancel;
  const WriteSignalsBlocked blocked;
  if (is_unchanged()) (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace megascope::standard_error
