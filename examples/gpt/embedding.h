/// \file
/// From bytes to vectors: a row of a table for each byte and for each position. Every tp rank has all of it.
#pragma once

#include <cstdint>

#include "attention.h"

namespace gpt {

using Bytes = std::vector<std::uint8_t>;

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

}  // namespace gpt
