/// \file
/// The tasks of the program. Collective over all ranks.
#pragma once

#include "pipeline.h"

namespace gpt {

/// Trains steps first..settings.steps - 1, counted from 0. Rank 0 prints a line for each.
void train(int first, const Settings& settings, const GridCoordinates& coordinates,
           Pipeline& pipeline);

/// Serves requests of the live view's clients (docs/live_protocol.md) until none came for
/// settings.serve_s seconds. Each token and each poll for a request is a step, counted from
/// first_step.
void serve(int first_step, const Settings& settings, const GridCoordinates& coordinates,
           Pipeline& pipeline);

}  // namespace gpt
