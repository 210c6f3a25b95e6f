#pragma once

#include "core/base/status.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

/// Writing to a trace file while the application runs.
namespace megascope::trace {

/// Returns whether a file must not be extended to `end`, because the kernel would then send SIGXFSZ
/// to the application.
bool exceeds_file_size_limit(std::uint64_t end);
Status file_size_error(const std::string& path);

/// Writes all bytes at `offset`. Returns false with errno set on failure.
bool write_all(int file, const void* from, std::size_t bytes, std::uint64_t offset);

/// fallocate(2), repeated when a signal interrupts it.
bool allocate(int file, int mode, std::uint64_t offset, std::uint64_t bytes);

/// Returns whether an error says that a file cannot become larger.
inline bool is_no_space(int error_number) noexcept {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

}  // namespace megascope::trace
