#include "plugin/live/projection/vector_cache.h"

#include "plugin/live/protocol/bounds.h"

#include <cstring>
#include <utility>

namespace megascope::live {
namespace {

/// Compares bitwise, so that NaN equals NaN.
bool is_alike(const NpyArray& a, const NpyArray& b) {
  return a.rows == b.rows && a.columns == b.columns &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
}

}  // namespace

/// Always reads the file, because it may have changed, and compares the result with the arrays in
/// use.
Status VectorCache::take(const std::string& directory, const std::string& path,
                         std::shared_ptr<const NpyArray>& vector) {
  NpyArray array;
  if (Status status = load_npy(directory, path, array); !status.is_ok()) return status;
  normalise_rows(array);
  std::erase_if(arrays_, [](const auto& one) { return one.expired(); });
  std::size_t bytes = array.values.size() * sizeof(float);
  for (const std::weak_ptr<const NpyArray>& one : arrays_) {
    const std::shared_ptr<const NpyArray> there = one.lock();
    if (is_alike(*there, array)) return vector = there, Status::ok();
    bytes += there->values.size() * sizeof(float);
  }
  if (bytes > kMaxVectorBytes)
    return Status::error("the vectors of all projections together would exceed " +
                         std::to_string(kMaxVectorBytes >> 20) + " MiB");
  vector = std::make_shared<const NpyArray>(std::move(array));
  arrays_.push_back(vector);
  return Status::ok();
}

}  // namespace megascope::live
