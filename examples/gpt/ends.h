/// \file
/// The two ends of the model: from bytes to vectors, and from vectors to the next byte. Their
/// weights are not shared.
#pragma once

#include "attention.h"
#include "norm.h"

#include <cstdint>

namespace gpt {

using Bytes = std::vector<std::uint8_t>;

/// A row of a table for each byte and for each position. Every tp rank has all of it.
class Embedding {
 public:
  Embedding(Bucket& bucket, const Settings& settings);
  /// tokens: [rows]; y: [rows, hidden].
  void forward(const Bytes& tokens, const Rows& rows, Floats& y) const;
  void backward(const Bytes& tokens, const Rows& rows, const Floats& dy) const;

 private:
  int hidden_;
  Dtype dtype_;
  Parameter& bytes_;      // [kVocabulary, hidden]
  Parameter& positions_;  // [sequence, hidden]
};

struct HeadState {
  std::vector<RowStatistics> statistics;
  Floats normed;  // [rows, hidden]
  Floats logits;  // [rows, kVocabulary / TP]; after loss() their gradient
};

/// From vectors to the next byte, and how wrong that was; tp ranks share the vocabulary.
class Head {
 public:
  Head(Bucket& bucket, const Settings& settings, const Axis& tp);
  void resize(const Rows& rows, HeadState& state) const;
  /// x: [rows, hidden]
  void forward(const Floats& x, const Rows& rows, HeadState& state) const;
  /// Mean cross-entropy of targets [rows]; the logits become the gradient of `share` times it.
  double loss(const Bytes& targets, const Rows& rows, float share, HeadState& state);
  /// After loss(). dx: [rows, hidden], written.
  void backward(const Floats& x, const Rows& rows, const HeadState& state, Scratch& scratch,
                Floats& dx) const;
  /// The kVocabulary logits of a row, from all tp ranks to all of them.
  Floats logits_of_row(int row, const HeadState& state) const;

 private:
  int hidden_;
  int vocabulary_;  // of this rank
  Axis tp_;
  Dtype dtype_;
  Norm norm_;
  Linear output_;
  Floats tops_;   // a row's largest logit
  Floats terms_;  // sums of exponentials of all rows, then logits of their targets
};

}  // namespace gpt
