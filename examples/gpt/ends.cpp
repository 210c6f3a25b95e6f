#include "ends.h"

#include <algorithm>
#include <cmath>

namespace gpt {

Embedding::Embedding(Bucket& bucket, const Settings& settings)
    : hidden_(settings.model.hidden),
      dtype_(settings.dtype),
      bytes_(bucket.add("embedding.bytes", {kVocabulary, hidden_}, observe::kNotSplit, 0.0F,
                        kDeviation)),
      positions_(bucket.add("embedding.positions", {settings.model.sequence, hidden_},
                            observe::kNotSplit, 0.0F, kDeviation)) {}

void Embedding::forward(const Bytes& tokens, const Rows& rows, Floats& y) const {
  observe::tensor("input_tokens", MEGASCOPE_INPUT_TOKENS, observe::kNone, rows.micro_batch,
                  {rows.sequences, rows.length}, observe::kNotSplit, tokens.data());
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
    add(dy.data() + row * width, width,
        positions_.gradient + row % static_cast<std::size_t>(rows.length) * width);
  }
}

Head::Head(Bucket& bucket, const Settings& settings, const Axis& tp)
    : hidden_(settings.model.hidden),
      vocabulary_(kVocabulary / tp.size),
      tp_(tp),
      dtype_(settings.dtype),
      norm_(bucket, "head.norm", hidden_, settings.model.rms_norm == 1, dtype_),
      output_(bucket, "head.output", hidden_, kVocabulary, Split::kOutputs, /*has_bias=*/false,
              kDeviation, tp, dtype_) {}

void Head::resize(const Rows& rows, HeadState& state) const {
  state.statistics.resize(rows.times(1));
  state.normed.resize(rows.times(hidden_));
  state.logits.resize(rows.times(vocabulary_));
}

void Head::forward(const Floats& x, const Rows& rows, HeadState& state) const {
  norm_.forward(x, rows.count(), state.normed, state.statistics);
  output_.forward(state.normed.data(), rows.count(), state.logits.data());
  observe::tensor("logits", MEGASCOPE_ACTV_OUT, observe::kNone, rows.micro_batch,
                  {rows.sequences, rows.length, vocabulary_}, 2, state.logits.data());
}

// log(sum of exp(logit)) - logit of the target. Both terms, and the maximum logit that keeps exp()
// small, are combined over all tp ranks.
double Head::loss(const Bytes& targets, const Rows& rows, float share, HeadState& state) {
  const std::size_t count = rows.times(1);
  const auto width = static_cast<std::size_t>(vocabulary_);
  const std::size_t first = static_cast<std::size_t>(tp_.rank) * width;
  tops_.resize(count);
  terms_.assign(2 * count, 0.0F);
  for (std::size_t row = 0; row < count; ++row)
    tops_[row] = largest(state.logits.data() + row * width, vocabulary_);
  if (tp_.size > 1)
    MPI_Allreduce(MPI_IN_PLACE, tops_.data(), rows.count(), MPI_FLOAT, MPI_MAX, tp_.comm);
  for (std::size_t row = 0; row < count; ++row) {
    float* logits = state.logits.data() + row * width;
    // Not below width if another rank has the target.
    const std::size_t target = targets[row] - first;
    if (target < width) terms_[count + row] = logits[target] - tops_[row];
    terms_[row] = exponentials(logits, vocabulary_, tops_[row]);
  }
  sum_over(tp_, terms_.data(), terms_.size());
  double total = 0;
  const float row_share = share / static_cast<float>(count);
  for (std::size_t row = 0; row < count; ++row) {
    float* logits = state.logits.data() + row * width;
    total += std::log(static_cast<double>(terms_[row])) - static_cast<double>(terms_[count + row]);
    scale(logits, width, row_share / terms_[row]);
    const std::size_t target = targets[row] - first;
    if (target < width) logits[target] -= row_share;
  }
  round_to(dtype_, state.logits.data(), rows.times(vocabulary_));
  return total / static_cast<double>(count);
}

void Head::backward(const Floats& x, const Rows& rows, const HeadState& state, Scratch& scratch,
                    Floats& dx) const {
  scratch.hidden.resize(rows.times(hidden_));
  output_.backward(state.normed.data(), state.logits.data(), rows.count(), scratch.hidden.data());
  std::fill_n(dx.begin(), rows.times(hidden_), 0.0F);
  norm_.backward(x, scratch.hidden, rows.count(), state.statistics, dx.data());
}

Floats Head::logits_of_row(int row, const HeadState& state) const {
  Floats all(kVocabulary);
  MPI_Allgather(state.logits.data() + static_cast<std::ptrdiff_t>(row) * vocabulary_, vocabulary_,
                MPI_FLOAT, all.data(), vocabulary_, MPI_FLOAT, tp_.comm);
  return all;
}

}  // namespace gpt
