#include "core/trace/header_file.h"

#include "core/record/definitions.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace megascope::trace {

bool read_header(int file, FileHeader& header) noexcept {
  return pread(file, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) &&
         std::memcmp(header.magic, kFileMagic, sizeof kFileMagic) == 0;
}

void change_header(const std::string& path, HeaderChange change) {
  change_header(files::current_directory(), path, change);
}

void change_header(const files::Base& directory, const std::string& name, HeaderChange change) {
  files::Descriptor opened;
  if (!files::open_existing(directory, name, O_RDWR, files::Owner::kThisUserOnly, opened).is_ok())
    return;
  const int file = opened.number();
  FileHeader header{};
  if (read_header(file, header)) {
    if (change.is_gone && header.end_state == static_cast<std::uint32_t>(EndState::kRunning)) {
      const auto state = static_cast<std::uint32_t>(EndState::kRecovered);
      (void)!pwrite(file, &state, sizeof state, offsetof(FileHeader, end_state));
    }
    if (change.is_together && header.is_standalone != 0) {
      const std::uint32_t is_standalone = 0;
      (void)!pwrite(file, &is_standalone, sizeof is_standalone,
                    offsetof(FileHeader, is_standalone));
    }
    if (!change.run_id.empty()) {
      char run_id[sizeof header.run_id]{};
      change.run_id.copy(run_id, sizeof run_id - 1);
      (void)!pwrite(file, run_id, sizeof run_id, offsetof(FileHeader, run_id));
    }
  }
}

}  // namespace megascope::trace
