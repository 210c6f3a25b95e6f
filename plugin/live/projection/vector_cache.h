#pragma once

#include "core/base/status.h"
#include "plugin/live/projection/npy_file.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::live {

/// The projection vectors in use, shared between clients: at most kMaxVectorBytes. One thread.
class VectorCache {
 public:
  /// Loads vectors like load_npy() and normalizes their rows. If an equal array is in use, returns
  /// that array instead.
  Status take(const std::string& directory, const std::string& path,
              std::shared_ptr<const NpyArray>& vector);

 private:
  std::vector<std::weak_ptr<const NpyArray>> arrays_;
};

}  // namespace megascope::live
