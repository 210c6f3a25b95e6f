#include "embedding.h"

#include "kernels.h"

namespace gpt {

Embedding::Embedding(Bucket& bucket, const Settings& settings)
    : hidden_(settings.model.hidden),
      dtype_(settings.dtype),
      bytes_(bucket.add("embedding.bytes", {kVocabulary, hidden_}, observe::kNotSplit, 0.0F, kDeviation)),
      positions_(bucket.add("embedding.positions", {settings.model.sequence, hidden_}, observe::kNotSplit, 0.0F, kDeviation)) {}

void Embedding::forward(const Bytes& tokens, const Rows& rows, Floats& y) const {
  observe::tensor({.name = "input_tokens",
                   .kind = observe::Kind::kInputTokens,
                   .micro_batch = rows.micro_batch,
                   .dimensions = 2,
                   .shape = {rows.sequences, rows.length},
                   .data = tokens.data()});
  const auto width = static_cast<std::size_t>(hidden_);
  for (std::size_t row = 0; row < rows.times(1); ++row) {
    const float* byte = bytes_.value + tokens[row] * width;
    const float* position = positions_.value + row % static_cast<std::size_t>(rows.length) * width;
    sum(byte, position, width, y.data() + row * width);
  }
  round_to(dtype_, y.data(), rows.times(hidden_));
}

void Embedding::backward(const Bytes& tokens, const Rows& rows, const Floats& dy) const {
  const auto width = static_cast<std::size_t>(hidden_);
  for (std::size_t row = 0; row < rows.times(1); ++row) {
    add(dy.data() + row * width, width, bytes_.gradient + tokens[row] * width);
    add(dy.data() + row * width, width, positions_.gradient + row % static_cast<std::size_t>(rows.length) * width);
  }
}

}  // namespace gpt
