/// \file
/// A linear layer that is split over tp ranks.
#pragma once

#include "parameters.h"

namespace gpt {

/// How y = x W^T + b is split, with W [outputs, inputs].
enum class Split {
  kOutputs,  // column-parallel: x replicated, y split; the gradient of x is summed over tp
  // row-parallel: x split, y replicated after a sum over tp; b is added once, after the sum.
  kInputs,
};

/// Sizes are those of this rank's part. Stateless except for the weights, so micro-batches may be
/// processed in any order.
class Linear {
 public:
  Linear(Bucket& bucket, const std::string& name, int inputs, int outputs, Split split,
         bool has_bias, float deviation, const Axis& tp, Dtype dtype);
  /// x: [rows, inputs], y: [rows, outputs].
  void forward(const float* x, int rows, float* y) const;
  /// Computes dx [rows, inputs] (overwritten) and adds to the weights' gradients, which overlaps
  /// with the sum over tp.
  void backward(const float* x, const float* dy, int rows, float* dx) const;

 private:
  Parameter& weight_;
  Parameter* bias_ = nullptr;
  Split split_;
  Axis tp_;
  Dtype dtype_;
};

}  // namespace gpt
