/// \file
/// Text from a prompt.
#pragma once

#include "pipeline.h"

namespace gpt {

/// settings.tokens bytes that follow settings.prompt; the same on every rank. Only the last model.sequence bytes are looked at.
std::string generate(const Settings& settings, Pipeline& pipeline);

}  // namespace gpt
