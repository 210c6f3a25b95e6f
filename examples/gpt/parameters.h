/// \file
/// Weights with their gradients and optimizer state.
#pragma once

#include "coordinates.h"
#include "observe.h"
#include "settings.h"

#include <cmath>
#include <deque>
#include <string>
#include <vector>

namespace gpt {

using Floats = std::vector<float>;

/// Standard deviation of initial matrix values, as in GPT-2: smaller for matrices that add to the
/// residual stream.
constexpr float kDeviation = 0.02F;
inline float residual_deviation(const ModelShape& model) {
  return kDeviation / std::sqrt(2.0F * static_cast<float>(model.layers));
}

/// One weight. Pointers are to this rank's part [rows, columns] in its bucket. shape: of the whole
/// weight, one or two dimensions. split_dimension: the dimension that tp ranks share evenly in rank
/// order; observe::kNotSplit: replicated, with equal values and gradients.
struct Parameter {
  std::string name;
  std::vector<int> shape;
  int split_dimension = observe::kNotSplit;
  float mean = 0;  // of the initial values
  float deviation = 0;
  int layer = observe::kNone;
  int rows = 0;
  int columns = 0;
  std::size_t offset = 0;  // in the bucket's arrays
  float* value = nullptr;
  float* gradient = nullptr;
  std::size_t count() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
};

/// Parameters whose gradients are reduced together, contiguous in memory: those of a layer, of the
/// embedding, or of the head. add() all of them, then allocate(). Addresses of Parameters stay
/// valid as long as the bucket.
class Bucket {
 public:
  Bucket(const Axis& tp, int layer) : tp_(tp), layer_(layer) {}
  Parameter& add(std::string name, std::vector<int> shape, int split_dimension, float mean,
                 float deviation);
  /// Initial values depend only on seed, name and position in the whole weight, not on the split.
  void allocate(std::uint64_t seed, Dtype dtype);
  /// The float32 numbers that the optimizer updates; with bf16 `values` are these numbers rounded.
  Floats& masters() { return masters_.empty() ? values : masters_; }
  /// Call after changing masters().
  void masters_changed();
  /// Shows the given array of each parameter to MegaScope.
  void show(megascope_tensor_kind kind, const Floats& array) const;
  std::deque<Parameter> parameters;
  Floats values;
  Floats gradients;
  Floats exp_avg;
  Floats exp_avg_sq;

 private:
  Axis tp_;
  int layer_;
  Floats masters_;  // empty with fp32
};

}  // namespace gpt
