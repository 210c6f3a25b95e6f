/// \file
/// What the program does with a model. On all ranks together.
#pragma once

#include "pipeline.h"

namespace gpt {

/// Steps first..settings.steps - 1, counted from 0. Rank 0 prints a line for each.
void train(int first, const Settings& settings, const Place& place, Pipeline& pipeline);

/// settings.tokens bytes that follow settings.prompt; the same on every rank. Only the last model.sequence bytes are looked at.
std::string generate(const Settings& settings, Pipeline& pipeline);

}  // namespace gpt
