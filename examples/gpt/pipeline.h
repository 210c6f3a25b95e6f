/// \file
/// A pipeline stage: executes the scheduler's actions and sends the messages between stages.
#pragma once

#include "chunk.h"
#include "reduction.h"
#include "schedule.h"
#include "text.h"

#include <array>
#include <memory>
#include <vector>

namespace gpt {

class Pipeline : private Inbox {
 public:
  /// Creates this stage's chunks. Keeps references to `settings` and `place`.
  Pipeline(const Settings& settings, const GridCoordinates& coordinates);
  /// Runs forward and backward of all micro-batches of a step; gradients are then summed over the
  /// replicas. Returns this replica's mean loss on the last stage, 0 on others.
  double run(int step, const Text& text);
  /// Forward only, for `sequences` concatenated sequences of equal length, at most model.sequence
  /// bytes. Returns the logits of the next bytes, [sequences, kVocabulary], on every rank.
  Floats next_byte_logits(const Bytes& bytes, int sequences);
  /// All weights of this rank.
  std::vector<Bucket*> buckets() const;

 private:
  /// A micro-batch in a chunk. Its memory is reused when both messages are sent.
  struct Flight {
    ChunkState state;
    std::array<MPI_Request, 2> sends{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  };
  bool has_input_for(const Action& action) override;
  void forward(const Action& action, int step, const Text& text);
  void backward(const Action& action);
  void pass_forward(const Action& action, Flight& flight);
  void bucket_done(Bucket& bucket, const Action& action);
  std::unique_ptr<Flight> take_flight(int chunk, const Rows& rows);
  void wait_for_sends();
  int index_in_model(int chunk) const {
    return chunk * coordinates_.pp.size + coordinates_.pp.rank;
  }
  bool is_first(int chunk) const { return index_in_model(chunk) == 0; }
  bool is_last(int chunk) const { return index_in_model(chunk) == chunks_in_model() - 1; }
  int chunks_in_model() const { return settings_.chunks * coordinates_.pp.size; }
  int previous_stage() const {
    return (coordinates_.pp.rank + coordinates_.pp.size - 1) % coordinates_.pp.size;
  }
  int next_stage() const { return (coordinates_.pp.rank + 1) % coordinates_.pp.size; }
  int tag(Action::Kind kind, int micro_batch, int receiving_chunk_in_model) const;
  const Settings& settings_;
  const GridCoordinates& coordinates_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<std::vector<std::unique_ptr<Flight>>> in_flight_;  // [chunk][micro_batch]
  std::vector<std::vector<std::unique_ptr<Flight>>> free_;       // [chunk]
  std::vector<int> backwards_left_;                              // [chunk]
  Reduction reduction_;
  double loss_ = 0;
};

}  // namespace gpt
