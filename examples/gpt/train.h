/// \file
/// Steps: gradients, their norm, Adam.
#pragma once

#include "pipeline.h"

namespace gpt {

/// What all ranks of a step know.
struct StepResult {
  double loss = 0;
  double gradient_norm = 0;  // of all gradients of the model, before clipping
};

/// One step on all ranks. `step` counts from 0.
StepResult train_step(int step, const Settings& settings, const Place& place, const Text& text, Pipeline& pipeline);

/// Steps first..settings.steps - 1. Rank 0 prints a line for each.
void train(int first, const Settings& settings, const Place& place, Pipeline& pipeline);

}  // namespace gpt
