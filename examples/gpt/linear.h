/// \file
/// A linear layer that tp ranks share.
#pragma once

#include "parameters.h"

namespace gpt {

/// Who has what of y = x W^T + b, with W [outputs, inputs].
enum class Split {
  kOutputs,  // column-parallel: x whole, y split; the gradient of x is a sum over tp
  kInputs,   // row-parallel: x split, y whole: a sum over tp; b is added once, after it
};

/// Sizes below are of this rank's part. No state but its weights: micro-batches may pass in any
/// order.
class Linear {
 public:
  Linear(Bucket& bucket, const std::string& name, int inputs, int outputs, Split split,
         bool has_bias, float deviation, const Axis& tp, Dtype dtype);
  /// x: [rows, inputs], y: [rows, outputs].
  void forward(const float* x, int rows, float* y) const;
  /// dx: [rows, inputs], written. Gradients of the weights are added to. The sum over tp runs while
  /// they are computed.
  void backward(const float* x, const float* dy, int rows, float* dx) const;

 private:
  Parameter& weight_;
  Parameter* bias_ = nullptr;
  Split split_;
  Axis tp_;
  Dtype dtype_;
};

}  // namespace gpt
