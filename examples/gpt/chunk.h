/// \file
/// A piece of the model: consecutive layers, with the embedding in front of the first and the head
/// behind the last.
#pragma once

#include "ends.h"
#include "layer.h"

#include <functional>
#include <memory>
#include <optional>

namespace gpt {

/// What a chunk keeps of one micro-batch between its forward and its backward.
struct ChunkState {
  Rows rows;
  Bytes inputs;                // tokens, if the chunk is the first
  Bytes targets;               // the tokens after them, if it is the last
  std::vector<Floats> hidden;  // [layers + 1]: what goes into each layer, and what comes out of the
                               // last; [rows, hidden]
  std::vector<LayerState> layers;
  HeadState head;
  Floats gradient;  // [rows, hidden]: of what comes out, after backward of what went in
};

class Chunk {
 public:
  /// `index`: of all chunks of the model, `count` of them, in the order of the layers. Has the form
  /// of its weights only.
  Chunk(int index, int count, const Settings& settings, const Axis& tp);
  /// The weights with their first values; before anything below.
  void allocate(std::uint64_t seed, Dtype dtype);
  /// Room for a micro-batch of this form.
  void resize(const Rows& rows, ChunkState& state) const;
  /// From state.inputs or state.hidden.front() to state.hidden.back(), or to the logits.
  void forward(ChunkState& state);
  /// Of the last chunk, after forward(): the mean loss; prepares backward of `share` times it.
  double loss(ChunkState& state, float share);
  /// From state.gradient, if there is no head, to state.gradient. `done` is called for each bucket
  /// of weights that this has passed, in the same order each time.
  void backward(ChunkState& state, const std::function<void(Bucket&)>& done);
  /// Behind the last byte of each sequence.
  Floats next_byte_logits(const ChunkState& state) const;
  /// In the order of the layers.
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
