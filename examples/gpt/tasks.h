/// \file
/// What the program does with a model. On all ranks together.
#pragma once

#include "pipeline.h"

namespace gpt {

/// Steps first..settings.steps - 1, counted from 0. Rank 0 prints a line for each.
void train(int first, const Settings& settings, const Place& place, Pipeline& pipeline);

/// Answers what clients of the live view ask (docs/live_protocol.md), until they have asked nothing
/// for settings.serve_s seconds. Each token is a step, and so is each look for a request; they are
/// counted from first_step.
void serve(int first_step, const Settings& settings, const Place& place, Pipeline& pipeline);

}  // namespace gpt
