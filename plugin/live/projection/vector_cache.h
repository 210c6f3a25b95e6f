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
  /// Loads vectors like load_npy(), with normalized rows. Reuses an equal array that is in use.
  Status take(const std::string& directory, const std::string& path,
              std::shared_ptr<const NpyArray>& vector);

 private:
  std::vector<std::weak_ptr<const NpyArray>> arrays_;
};

}  // namespace megascope::live
