/// \file
/// The two ends of the model: the embedding (bytes to vectors) and the head (vectors to logits of
/// the next byte). They do not share weights.
#pragma once

#include "attention.h"
#include "norm.h"

#include <cstdint>

namespace gpt {

using Bytes = std::vector<std::uint8_t>;

/// A table row for each byte and each position. Replicated on all tp ranks.
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

/// Logits of the next byte, and the loss. tp ranks share the vocabulary.
class Head {
 public:
  Head(Bucket& bucket, const Settings& settings, const Axis& tp);
  void resize(const Rows& rows, HeadState& state) const;
  /// x: [rows, hidden]
  void forward(const Floats& x, const Rows& rows, HeadState& state) const;
  /// Returns the mean cross-entropy for targets [rows]; replaces the logits by the gradient of
  /// `share` times it.
  double loss(const Bytes& targets, const Rows& rows, float share, HeadState& state);
  /// After loss(). dx: [rows, hidden], overwritten.
  void backward(const Floats& x, const Rows& rows, const HeadState& state, Scratch& scratch,
                Floats& dx) const;
  /// All kVocabulary logits of a row, on all tp ranks.
  Floats logits_of_row(int row, const HeadState& state) const;

 private:
  int hidden_;
  int vocabulary_;  // of this rank
  Axis tp_;
  Dtype dtype_;
  Norm norm_;
  Linear output_;
  Floats tops_;   // largest logit of each row
  Floats terms_;  // sums of exponentials of all rows, then logits of the targets
};

}  // namespace gpt
