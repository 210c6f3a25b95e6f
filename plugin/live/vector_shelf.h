#pragma once

#include "core/base/status.h"
#include "plugin/live/npy_file.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::live {

/// The vectors that projections use now, each once, whoever asked: kMostVectorBytes of them at
/// most. One thread.
class VectorShelf {
 public:
  /// As load_npy(), rows normalised. It is kept for as long as somebody has it.
  Status take(const std::string& folder, const std::string& path,
              std::shared_ptr<const NpyArray>& vector);

 private:
  std::vector<std::weak_ptr<const NpyArray>> arrays_;
};

}  // namespace megascope::live
