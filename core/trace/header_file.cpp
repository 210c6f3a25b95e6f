#include "core/trace/header_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "core/record/definitions.h"

namespace megascope::trace {
namespace {

bool read_from(int file, FileHeader& header) noexcept {
  return pread(file, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) &&
         std::memcmp(header.magic, kFileMagic, sizeof kFileMagic) == 0;
}

}  // namespace

bool read_header(const std::string& path, FileHeader& header) noexcept {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_trace = read_from(file, header);
  close(file);
  return is_trace;
}

void change_header(const std::string& path, HeaderChange change) noexcept {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  FileHeader header{};
  if (read_from(file, header)) {
    if (change.is_gone && header.end_state == static_cast<std::uint32_t>(EndState::kRunning)) {
      const auto state = static_cast<std::uint32_t>(EndState::kRecovered);
      (void)!pwrite(file, &state, sizeof state, offsetof(FileHeader, end_state));
    }
    if (change.is_together && header.is_solo != 0) {
      const std::uint32_t is_solo = 0;
      (void)!pwrite(file, &is_solo, sizeof is_solo, offsetof(FileHeader, is_solo));
    }
    if (!change.run_id.empty()) {
      char run_id[sizeof header.run_id]{};
      change.run_id.copy(run_id, sizeof run_id - 1);
      (void)!pwrite(file, run_id, sizeof run_id, offsetof(FileHeader, run_id));
    }
  }
  close(file);
}

}  // namespace megascope::trace
