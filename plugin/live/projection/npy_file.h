#pragma once

#include "core/base/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::live {

inline constexpr std::size_t kMaxNpyBytes = std::size_t{16} << 20;

/// A two-dimensional array from a .npy file, converted to float, row-major.
struct NpyArray {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::vector<float> values;
};

/// Parses a .npy file (format version 1, 2 or 3) with two-dimensional little-endian float16,
/// float32 or float64 data in C order. bytes: any bytes. Pure.
Status read_npy(std::span<const std::byte> bytes, NpyArray& array);

/// Loads the file `path` from `directory`. path: relative to the directory or starting with it,
/// without `..`. Links that lead out of the directory are rejected. At most kMaxNpyBytes. Errors
/// name the path.
Status load_npy(const std::string& directory, const std::string& path, NpyArray& array);

/// Scales each row to length 1. Zero rows and non-finite rows are unchanged.
void normalise_rows(NpyArray& array);

}  // namespace megascope::live
