/// \file
/// Causal self-attention with grouped queries; tp ranks share the groups.
#pragma once

#include "linear.h"

namespace gpt {

/// What passes through a layer at once: `sequences` times `length` rows, a sequence's one after
/// another.
struct Rows {
  int sequences = 0;
  int length = 0;
  int micro_batch = observe::kNone;
  int count() const { return sequences * length; }
  std::size_t times(int width) const {
    return static_cast<std::size_t>(count()) * static_cast<std::size_t>(width);
  }
};

/// Gradients on the way back, and sums on the way forth: every layer overwrites them.
struct Scratch {
  Floats hidden;  // [rows, hidden]
  Floats ffn;     // [rows, ffn / TP]
};

/// Kept from forward for backward. G, R: groups of this rank and queries in each, D: size of a
/// head.
struct AttentionState {
  Floats qkv;  // [sequences, length, G, R + 2, D]: the queries of a group, its key, its value
  Floats probabilities;  // [sequences, G * R, length, length]
  Floats context;        // [sequences, length, G * R, D]
};

class Attention {
 public:
  Attention(Bucket& bucket, const std::string& name, int layer, const Settings& settings,
            const Axis& tp);
  void resize(const Rows& rows, AttentionState& state) const;
  /// x, y: [rows, hidden].
  void forward(const float* x, const Rows& rows, AttentionState& state, float* y) const;
  /// dx: [rows, hidden], written.
  void backward(const float* x, const float* dy, const Rows& rows, const AttentionState& state,
                float* dx);

 private:
  /// Where one head of one sequence begins in the arrays of a state.
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
  Floats d_qkv_;  // backward's own, laid out like those of the state
  Floats d_scores_;
  Floats d_context_;
};

}  // namespace gpt
