#include "chunk.h"

namespace gpt {

Chunk::Chunk(int index, int count, const Settings& settings, const Axis& tp)
    : hidden_(settings.model.hidden) {
  const int layers = settings.model.layers / count;
  if (index == 0) embedding_.emplace(add_bucket(observe::kNone, tp), settings);
  for (int i = 0; i < layers; ++i) {
    const int number = index * layers + i;
    layers_.emplace_back(add_bucket(number, tp), number, settings, tp);
  }
  if (index == count - 1) head_.emplace(add_bucket(observe::kNone, tp), settings, tp);
}

void Chunk::allocate(std::uint64_t seed, Dtype dtype) {
  for (const auto& bucket : buckets) bucket->allocate(seed, dtype);
}

Bucket& Chunk::add_bucket(int layer, const Axis& tp) {
  return *buckets.emplace_back(std::make_unique<Bucket>(tp, layer));
}

void Chunk::resize(const Rows& rows, ChunkState& state) const {
  state.rows = rows;
  state.hidden.resize(layers_.size() + 1);
  for (Floats& hidden : state.hidden) hidden.resize(rows.times(hidden_));
  state.gradient.resize(rows.times(hidden_));
  state.layers.resize(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i].resize(rows, state.layers[i]);
  if (head_) head_->resize(rows, state.head);
}

void Chunk::forward(ChunkState& state) {
  if (embedding_) embedding_->forward(state.inputs, state.rows, state.hidden.front());
  for (std::size_t i = 0; i < layers_.size(); ++i)
    layers_[i].forward(state.hidden[i], state.rows, state.layers[i], scratch_, state.hidden[i + 1]);
  if (head_) head_->forward(state.hidden.back(), state.rows, state.head);
}

double Chunk::loss(ChunkState& state, float share) {
  return head_->loss(state.targets, state.rows, share, state.head);
}

void Chunk::backward(ChunkState& state, const std::function<void(Bucket&)>& done) {
  std::size_t next = buckets.size();
  if (head_) {
    head_->backward(state.hidden.back(), state.rows, state.head, scratch_, state.gradient);
    done(*buckets[--next]);
  }
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layers_[i].backward(state.hidden[i], state.rows, state.layers[i], scratch_, state.gradient);
    done(*buckets[--next]);
  }
  if (embedding_) {
    embedding_->backward(state.inputs, state.rows, state.gradient);
    done(*buckets[--next]);
  }
}

Floats Chunk::next_byte_logits(const ChunkState& state) const {
  Floats logits;
  for (int row = state.rows.length - 1; row < state.rows.count(); row += state.rows.length) {
    const Floats one = head_->logits_of_row(row, state.head);
    logits.insert(logits.end(), one.begin(), one.end());
  }
  return logits;
}

}  // namespace gpt
