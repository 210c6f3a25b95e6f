#include "kernels.h"
#include "tasks.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace gpt {

namespace {

/// Results of a step, the same on all ranks.
struct StepResult {
  double loss = 0;
  double gradient_norm = 0;  // norm of all gradients of the model, before clipping
};

/// Sum of squares of this rank's gradients; replicated ones are counted on one rank of a replica
/// only.
double squares_of(const Pipeline& pipeline, const GridCoordinates& coordinates) {
  double squares = 0;
  for (const Bucket* bucket : pipeline.buckets())
    for (const Parameter& parameter : bucket->parameters)
      if (parameter.split_dimension != observe::kNotSplit || coordinates.tp.is_first())
        squares += sum_of_squares(parameter.gradient, parameter.count());
  return squares;
}

StepResult result_of(double loss, const Pipeline& pipeline, const GridCoordinates& coordinates) {
  loss /= coordinates.dp.size;
  MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, coordinates.dp.comm);
  std::array<double, 2> sums = {coordinates.tp.is_first() ? loss : 0.0,
                                squares_of(pipeline, coordinates)};
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_DOUBLE, MPI_SUM, coordinates.model.comm);
  return {.loss = sums[0], .gradient_norm = std::sqrt(sums[1])};
}

void update(int step, const Settings& settings, double gradient_norm, Pipeline& pipeline) {
  const observe::Region region(observe::kOptimizer);
  const bool is_too_long = settings.clip > 0 && gradient_norm > static_cast<double>(settings.clip);
  AdamStep adam_step{
      .learning_rate = settings.learning_rate,
      .gradient_scale = is_too_long ? settings.clip / static_cast<float>(gradient_norm) : 1.0F};
  adam_step.correction1 = 1.0F - static_cast<float>(
                                     std::pow(static_cast<double>(adam_step.beta1), step + 1));
  adam_step.correction2 = 1.0F - static_cast<float>(
                                     std::pow(static_cast<double>(adam_step.beta2), step + 1));
  for (Bucket* bucket : pipeline.buckets()) {
    bucket->show(MEGASCOPE_WEIGHT, bucket->values);
    adam(adam_step, bucket->gradients.size(), bucket->gradients.data(), bucket->masters().data(),
         bucket->exp_avg.data(), bucket->exp_avg_sq.data());
    bucket->masters_changed();
    bucket->show(MEGASCOPE_WEIGHT_UPDATED, bucket->values);
    bucket->show(MEGASCOPE_EXP_AVG, bucket->exp_avg);
    bucket->show(MEGASCOPE_EXP_AVG_SQ, bucket->exp_avg_sq);
  }
}

StepResult train_step(int step, const Settings& settings, const GridCoordinates& coordinates,
                      const Text& text, Pipeline& pipeline) {
  const observe::Step in_step(step);
  const double loss = pipeline.run(step, text);
  const StepResult result = result_of(loss, pipeline, coordinates);
  if (coordinates.is_world_first) {
    observe::kLoss.set(result.loss);
    observe::kGradientNorm.set(result.gradient_norm);
  }
  update(step, settings, result.gradient_norm, pipeline);
  return result;
}

}  // namespace

void train(int first, const Settings& settings, const GridCoordinates& coordinates,
           Pipeline& pipeline) {
  if (first >= settings.steps) return;
  const Text text(settings.data, settings.model.sequence);
  for (int step = first; step < settings.steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    const StepResult result = train_step(step, settings, coordinates, text, pipeline);
    const std::chrono::duration<double, std::milli> time_ms = std::chrono::steady_clock::now() -
                                                              begin;
    if (!coordinates.is_world_first) continue;
    std::printf("step %d loss %.7g", step, result.loss);
    if (settings.has_times) std::printf(" ms %.3f", time_ms.count());
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace gpt
