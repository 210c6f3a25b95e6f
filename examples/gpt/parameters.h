/// \file
/// Weights, and what is kept for each: gradient, optimizer state.
#pragma once

#include "observe.h"
#include "place.h"
#include "settings.h"

#include <cmath>
#include <deque>
#include <string>
#include <vector>

namespace gpt {

using Floats = std::vector<float>;

/// Standard deviation of a matrix's first values, as in GPT-2: less for those that add to the
/// residual stream.
constexpr float kDeviation = 0.02F;
inline float residual_deviation(const ModelShape& model) {
  return kDeviation / std::sqrt(2.0F * static_cast<float>(model.layers));
}

/// One weight of the model; pointers are to this rank's part [rows, columns] inside its bucket.
/// shape: of the whole weight, one or two dimensions. split_dimension: the one that tp ranks share
/// evenly and in rank order; observe::kNotSplit: each has all of it, with the same values and the
/// same gradients.
struct Parameter {
  std::string name;
  std::vector<int> shape;
  int split_dimension = observe::kNotSplit;
  float mean = 0;  // of the first values
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

/// Parameters whose gradients are reduced together, one after another in memory: those of a layer,
/// of the embedding, of the head. add() all of them, then allocate(). Addresses of Parameters stay
/// valid as long as the bucket.
class Bucket {
 public:
  Bucket(const Axis& tp, int layer) : tp_(tp), layer_(layer) {}
  Parameter& add(std::string name, std::vector<int> shape, int split_dimension, float mean,
                 float deviation);
  /// First values depend on seed, name and place in the whole weight only, not on how it is split.
  void allocate(std::uint64_t seed, Dtype dtype);
  /// The numbers that the optimizer works on, float32: with bf16 `values` are these, rounded.
  Floats& masters() { return masters_.empty() ? values : masters_; }
  /// To be called when masters() have changed.
  void masters_changed();
  /// Tells the observer of this array of each parameter.
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
