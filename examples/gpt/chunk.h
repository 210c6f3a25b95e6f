/// \file
/// A chunk of the model: consecutive layers; the first chunk also has the embedding, the last one
/// the head.
#pragma once

#include "ends.h"
#include "layer.h"

#include <functional>
#include <memory>
#include <optional>

namespace gpt {

/// Values of one micro-batch that a chunk keeps from forward to backward.
struct ChunkState {
  Rows rows;
  Bytes inputs;   // tokens, if the chunk is the first
  Bytes targets;  // the tokens after them, if it is the last
  // [layers + 1]: input of each layer and output of the last one; [rows, hidden].
  std::vector<Floats> hidden;
  std::vector<LayerState> layers;
  HeadState head;
  Floats gradient;  // [rows, hidden]: of the output; after backward of the input
};

class Chunk {
 public:
  /// `index`: of `count` chunks of the model, in layer order. Defines the weights' shapes without
  /// allocating them.
  Chunk(int index, int count, const Settings& settings, const Axis& tp);
  /// Allocates and initializes the weights. Call it before the functions below.
  void allocate(std::uint64_t seed, Dtype dtype);
  /// Allocates the state of a micro-batch with this shape.
  void resize(const Rows& rows, ChunkState& state) const;
  /// Computes state.hidden.back(), or the logits, from state.inputs or state.hidden.front().
  void forward(ChunkState& state);
  /// Last chunk, after forward(): returns the mean loss and prepares backward of `share` times it.
  double loss(ChunkState& state, float share);
  /// Computes the gradient of the input from that of the output (or from the head) in
  /// state.gradient. Calls `done` for each bucket whose gradients are final, in the same order each
  /// time.
  void backward(ChunkState& state, const std::function<void(Bucket&)>& done);
  /// Logits of the byte after each sequence.
  Floats next_byte_logits(const ChunkState& state) const;
  /// In layer order.
  std::vector<std::unique_ptr<Bucket>> buckets;

 private:
  Bucket& add_bucket(int layer, const Axis& tp);

  int hidden_;
  std::optional<Embedding> embedding_;
  std::deque<Layer> layers_;
  std::optional<Head> head_;
  Scratch scratch_;
};

}  // namespace gpt
