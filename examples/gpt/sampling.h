/// \file
/// From logits to the next byte.
#pragma once

#include "kernels.h"

#include <cstdint>
#include <vector>

namespace gpt {

struct Sampling {
  float temperature = 0;  // 0: always the likeliest byte
  int top_k = 0;          // so many of the likeliest can be taken; 0: all
  float top_p = 0;  // as many of the likeliest as have this probability together, at least one; 0:
                    // all
  std::uint64_t seed = 1;
};

struct Candidate {
  std::uint8_t byte = 0;
  float logit = 0;
  float probability = 0;  // the model's: without temperature, top_k and top_p
};

/// All bytes, likeliest first. logits: kVocabulary of them; NaN counts as unlikeliest.
std::vector<Candidate> ranked(const float* logits);

/// One of them. random: any number, as hash() makes them.
const Candidate& choose(const std::vector<Candidate>& ranked, const Sampling& sampling,
                        std::uint64_t random);

}  // namespace gpt
