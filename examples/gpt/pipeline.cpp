#include "pipeline.h"

#include <algorithm>

namespace gpt {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

Pipeline::Pipeline(const Settings& settings, const GridCoordinates& coordinates)
    : settings_(settings),
      coordinates_(coordinates),
      in_flight_(at(settings.chunks)),
      free_(at(settings.chunks)) {
  for (int chunk = 0; chunk < settings.chunks; ++chunk) {
    chunks_.push_back(std::make_unique<Chunk>(index_in_model(chunk), chunks_in_model(), settings,
                                              coordinates.tp));
    chunks_.back()->allocate(settings.seed, settings.dtype);
    in_flight_[at(chunk)].resize(at(settings.micro_batches));
  }
}

std::vector<Bucket*> Pipeline::buckets() const {
  std::vector<Bucket*> all;
  for (const auto& chunk : chunks_)
    for (const auto& bucket : chunk->buckets) all.push_back(bucket.get());
  return all;
}

double Pipeline::run(int step, const Text& text) {
  loss_ = 0;
  backwards_left_.assign(at(settings_.chunks), settings_.micro_batches);
  for (Bucket* bucket : buckets())
    std::fill(bucket->gradients.begin(), bucket->gradients.end(), 0.0F);
  const auto scheduler = make_scheduler(settings_.schedule,
                                        {.stage = coordinates_.pp.rank,
                                         .stages = coordinates_.pp.size,
                                         .micro_batches = settings_.micro_batches,
                                         .chunks = settings_.chunks});
  while (const std::optional<Action> action = scheduler->next(*this)) {
    if (action->kind == Action::Kind::kForward)
      forward(*action, step, text);
    else
      backward(*action);
  }
  wait_for_sends();
  reduction_.finish();
  return loss_ / settings_.micro_batches;
}

bool Pipeline::has_input_for(const Action& action) {
  const bool is_forward = action.kind == Action::Kind::kForward;
  if (is_forward ? is_first(action.chunk) : is_last(action.chunk)) return true;
  int is_there = 0;
  MPI_Iprobe(is_forward ? previous_stage() : next_stage(),
             tag(action.kind, action.micro_batch, index_in_model(action.chunk)),
             coordinates_.pp.comm, &is_there, MPI_STATUS_IGNORE);
  return is_there != 0;
}

// Messages of a step may overtake each other; the tag identifies them.
int Pipeline::tag(Action::Kind kind, int micro_batch, int receiving_chunk_in_model) const {
  return 2 * (micro_batch * chunks_in_model() + receiving_chunk_in_model) +
         (kind == Action::Kind::kBackward ? 1 : 0);
}

void Pipeline::forward(const Action& action, int step, const Text& text) {
  const observe::Region region(
      observe::kForward,
      observe::Where().of_micro_batch(action.micro_batch).of_chunk(action.chunk));
  const int size = settings_.micro_batch_size();
  const Rows rows{
      .sequences = size, .length = settings_.model.sequence, .micro_batch = action.micro_batch};
  auto flight = take_flight(action.chunk, rows);
  ChunkState& state = flight->state;
  const int first = (coordinates_.dp.rank * settings_.micro_batches + action.micro_batch) * size;
  text.read(settings_.seed, step, first, rows, is_first(action.chunk) ? &state.inputs : nullptr,
            is_last(action.chunk) ? &state.targets : nullptr);
  pass_forward(action, *flight);
  if (is_last(action.chunk))
    loss_ += chunks_[at(action.chunk)]->loss(
        state, 1.0F / static_cast<float>(settings_.micro_batches * coordinates_.dp.size));
  in_flight_[at(action.chunk)][at(action.micro_batch)] = std::move(flight);
}

void Pipeline::pass_forward(const Action& action, Flight& flight) {
  ChunkState& state = flight.state;
  const int count = static_cast<int>(state.hidden.front().size());
  const int index = index_in_model(action.chunk);
  if (!is_first(action.chunk))
    MPI_Recv(state.hidden.front().data(), count, MPI_FLOAT, previous_stage(),
             tag(action.kind, action.micro_batch, index), coordinates_.pp.comm, MPI_STATUS_IGNORE);
  chunks_[at(action.chunk)]->forward(state);
  if (!is_last(action.chunk))
    MPI_Isend(state.hidden.back().data(), count, MPI_FLOAT, next_stage(),
              tag(action.kind, action.micro_batch, index + 1), coordinates_.pp.comm,
              &flight.sends[0]);
}

void Pipeline::backward(const Action& action) {
  const observe::Region region(
      observe::kBackward,
      observe::Where().of_micro_batch(action.micro_batch).of_chunk(action.chunk));
  auto flight = std::move(in_flight_[at(action.chunk)][at(action.micro_batch)]);
  ChunkState& state = flight->state;
  const int count = static_cast<int>(state.gradient.size());
  const int index = index_in_model(action.chunk);
  if (!is_last(action.chunk))
    MPI_Recv(state.gradient.data(), count, MPI_FLOAT, next_stage(),
             tag(action.kind, action.micro_batch, index), coordinates_.pp.comm, MPI_STATUS_IGNORE);
  --backwards_left_[at(action.chunk)];
  chunks_[at(action.chunk)]->backward(state, [&](Bucket& bucket) { bucket_done(bucket, action); });
  if (!is_first(action.chunk))
    MPI_Isend(state.gradient.data(), count, MPI_FLOAT, previous_stage(),
              tag(action.kind, action.micro_batch, index - 1), coordinates_.pp.comm,
              &flight->sends[1]);
  free_[at(action.chunk)].push_back(std::move(flight));
}

void Pipeline::bucket_done(Bucket& bucket, const Action& action) {
  if (backwards_left_[at(action.chunk)] == 0)
    reduction_.start(bucket, coordinates_.dp_of_chunk[at(action.chunk)]);
  reduction_.progress();
}

std::unique_ptr<Pipeline::Flight> Pipeline::take_flight(int chunk, const Rows& rows) {
  std::unique_ptr<Flight> flight;
  // Waiting for a send here could deadlock with a stage that waits for this one. Uses a state whose
  // sends have completed, or new memory.
  for (auto& candidate : free_[at(chunk)]) {
    int has_left = 0;
    MPI_Testall(2, candidate->sends.data(), &has_left, MPI_STATUSES_IGNORE);
    if (has_left == 0) continue;
    flight = std::move(candidate);
    candidate = std::move(free_[at(chunk)].back());
    free_[at(chunk)].pop_back();
    break;
  }
  if (!flight) flight = std::make_unique<Flight>();
  chunks_[at(chunk)]->resize(rows, flight->state);
  return flight;
}

void Pipeline::wait_for_sends() {
  for (auto& flights : free_)
    for (auto& flight : flights) MPI_Waitall(2, flight->sends.data(), MPI_STATUSES_IGNORE);
}

Floats Pipeline::next_byte_logits(const Bytes& bytes, int sequences) {
  const Rows rows{.sequences = sequences,
                  .length = static_cast<int>(bytes.size()) / sequences,
                  .micro_batch = 0};
  Floats logits(at(sequences) * kVocabulary);
  for (int chunk = 0; chunk < settings_.chunks; ++chunk) {
    auto flight = take_flight(chunk, rows);
    flight->state.inputs = bytes;
    pass_forward({Action::Kind::kForward, 0, chunk}, *flight);
    if (is_last(chunk)) logits = chunks_[at(chunk)]->next_byte_logits(flight->state);
    free_[at(chunk)].push_back(std::move(flight));
  }
  MPI_Bcast(logits.data(), static_cast<int>(logits.size()), MPI_FLOAT, coordinates_.pp.size - 1,
            coordinates_.pp.comm);
  wait_for_sends();
  return logits;
}

}  // namespace gpt
