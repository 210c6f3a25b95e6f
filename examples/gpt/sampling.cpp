#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gpt {

std::vector<Candidate> ranked(const float* logits) {
  const auto key = [](const Candidate& one) {
    return std::isnan(one.logit) ? -std::numeric_limits<float>::infinity() : one.logit;
  };
  std::vector<Candidate> all(kVocabulary);
  for (std::size_t byte = 0; byte < all.size(); ++byte)
    all[byte] = {.byte = static_cast<std::uint8_t>(byte), .logit = logits[byte]};
  std::stable_sort(all.begin(), all.end(), [&](const Candidate& one, const Candidate& other) {
    return key(one) > key(other);
  });
  std::vector<float> weights(logits, logits + kVocabulary);
  const float total = exponentials(weights.data(), kVocabulary, all.front().logit);
  for (Candidate& one : all) one.probability = weights[one.byte] / total;
  return all;
}

const Candidate& choose(const std::vector<Candidate>& ranked, const Sampling& sampling,
                        std::uint64_t random) {
  if (sampling.temperature <= 0) return ranked.front();
  const std::size_t most = sampling.top_k > 0
                               ? std::min(ranked.size(), static_cast<std::size_t>(sampling.top_k))
                               : ranked.size();
  std::vector<float> weights(most);
  for (std::size_t i = 0; i < most; ++i)
    weights[i] = std::fmax(
        std::exp((ranked[i].logit - ranked.front().logit) / sampling.temperature),
        0.0F);  // also for NaN
  std::partial_sum(weights.begin(), weights.end(), weights.begin());
  float total = weights.back();
  if (sampling.top_p > 0)
    total = *std::lower_bound(weights.begin(), weights.end() - 1,
                              std::min(sampling.top_p, 1.0F) * total);
  const float coordinates = total * static_cast<float>(random >> 40) / static_cast<float>(1 << 24);
  const auto taken = std::upper_bound(weights.begin(), weights.end() - 1, coordinates);
  return ranked[static_cast<std::size_t>(taken - weights.begin())];
}

}  // namespace gpt
