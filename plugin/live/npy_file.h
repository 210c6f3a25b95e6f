#pragma once

#include "core/base/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::live {

inline constexpr std::size_t kMostNpyBytes = std::size_t{16} << 20;

/// An array of a .npy file: two dimensions, C order, as float.
struct NpyArray {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::vector<float> values;
};

/// bytes: of a whole file (NumPy's format 1, 2 or 3), any bytes; float16, float32 or float64,
/// little-endian. Pure.
Status read_npy(std::span<const std::byte> bytes, NpyArray& array);

/// The file that `path` names in `folder`: relative to it or with it, without `..`; one that leads
/// out of the folder by a link is refused. At most kMostNpyBytes. An error names the path.
Status load_npy(const std::string& folder, const std::string& path, NpyArray& array);

/// Each row becomes one of length 1; rows of zeros, and those that are not finite, stay.
void normalise_rows(NpyArray& array);

}  // namespace megascope::live
