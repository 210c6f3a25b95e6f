/// \file
/// A transformer layer: x + attention(norm(x)), then x + MLP(norm(x)).
#pragma once

#include "attention.h"
#include "norm.h"

namespace gpt {

/// Values of a micro-batch kept from forward for backward. The caller keeps the layer's input.
struct LayerState {
  std::vector<RowStatistics> statistics1, statistics2;
  Floats normed1;  // [rows, hidden], like the other arrays unless stated
  AttentionState attention;
  Floats middle;  // input + attention
  Floats normed2;
  Floats mlp1;    // [rows, ffn / TP], before GELU
  Floats active;  // the same, after GELU
};

class Layer {
 public:
  /// `number`: index in the whole model, from 0. Adds its weights to the bucket.
  Layer(Bucket& bucket, int number, const Settings& settings, const Axis& tp);
  void resize(const Rows& rows, LayerState& state) const;
  /// input, output: [rows, hidden]
  void forward(const Floats& input, const Rows& rows, LayerState& state, Scratch& scratch,
               Floats& output) const;
  /// gradient: [rows, hidden], of the output; replaced by that of the input.
  void backward(const Floats& input, const Rows& rows, const LayerState& state, Scratch& scratch,
                Floats& gradient);

 private:
  void show(const char* name, megascope_tensor_kind kind, const Rows& rows, int width,
            bool is_split, const Floats& data) const;
  int number_;
  int hidden_;
  int ffn_;  // of this rank
  Dtype dtype_;
  Norm norm1_;
  Attention attention_;
  Norm norm2_;
  Linear mlp1_;
  Linear mlp2_;
};

}  // namespace gpt
