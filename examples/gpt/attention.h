/// \file
/// Causal self-attention with grouped queries. tp ranks share the groups.
#pragma once

#include "linear.h"

namespace gpt {

/// Shape of a layer's input: `sequences` times `length` rows, one sequence after another.
struct Rows {
  int sequences = 0;
  int length = 0;
  int micro_batch = observe::kNone;
  int count() const { return sequences * length; }
  std::size_t times(int width) const {
    return static_cast<std::size_t>(count()) * static_cast<std::size_t>(width);
  }
};

/// Temporary arrays, overwritten by every layer.
struct Scratch {
  Floats hidden;  // [rows, hidden]
  Floats ffn;     // [rows, ffn / TP]
};

/// Values kept from forward for backward. G: groups of this rank, R: queries in a group, D: head
/// size.
struct AttentionState {
  Floats qkv;            // [sequences, length, G, R + 2, D]: queries, key and value of each group
  Floats probabilities;  // [sequences, G * R, length, length]
  Floats context;        // [sequences, length, G * R, D]
};

/// Attention of one layer on one tp rank.
class Attention {
 public:
  Attention(Bucket& bucket, const std::string& name, int layer, const Settings& settings,
            const Axis& tp);
  void resize(const Rows& rows, AttentionState& state) const;
  /// x, y: [rows, hidden].
  void forward(const float* x, const Rows& rows, AttentionState& state, float* y) const;
  /// Computes dx [rows, hidden] (overwritten); adds to the weights' gradients.
  void backward(const float* x, const float* dy, const Rows& rows, const AttentionState& state,
                float* dx);

 private:
  /// Offsets of one head of one sequence in the arrays of a state.
  struct Head {
    std::size_t query, key, value;  // in qkv
    std::size_t probabilities;
    std::size_t context;
    bool is_first_of_group;
  };
  Head head(const Rows& rows, int sequence, int index) const;
  void head_backward(const Head& head, const AttentionState& state, int length);
  int heads() const { return groups_ * queries_; }
  int qkv_width() const { return groups_ * (queries_ + 2) * size_; }
  void show(const AttentionState& state, const Rows& rows) const;
  int layer_;
  int groups_;   // of this rank
  int queries_;  // a group
  int size_;     // of a head
  float scale_;
  Dtype dtype_;
  Linear qkv_;
  Linear output_;
  Floats d_qkv_;  // used by backward; same layout as in the state
  Floats d_scores_;
  Floats d_context_;
};

}  // namespace gpt
