/// \file
/// Selects the next byte from logits.
#pragma once

#include "kernels.h"

#include <cstdint>
#include <vector>

namespace gpt {

struct Sampling {
  float temperature = 0;  // 0: always the most likely byte
  int top_k = 0;          // number of most likely bytes to choose from; 0: all
  // Choose from the most likely bytes with this total probability, at least one; 0: all.
  float top_p = 0;
  std::uint64_t seed = 1;
};

struct Candidate {
  std::uint8_t byte = 0;
  float logit = 0;
  float probability = 0;  // of the model, without temperature, top_k and top_p
};

/// All bytes, most likely first. logits: kVocabulary of them; NaN sorts last.
std::vector<Candidate> ranked(const float* logits);

/// Chooses one. random: any number, e.g. from hash().
const Candidate& choose(const std::vector<Candidate>& ranked, const Sampling& sampling,
                        std::uint64_t random);

}  // namespace gpt
