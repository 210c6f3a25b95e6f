#include <algorithm>

#include "kernels.h"
#include "tasks.h"

namespace gpt {

namespace {

std::uint8_t choose(Floats logits, float temperature, std::uint64_t random) {
  const auto top = std::max_element(logits.begin(), logits.end());
  if (temperature <= 0) return static_cast<std::uint8_t>(top - logits.begin());
  const float shift = *top / temperature;
  scale(logits.data(), logits.size(), 1.0F / temperature);
  const float total = exponentials(logits.data(), kVocabulary, shift);
  float left = total * static_cast<float>(random >> 40) / static_cast<float>(1 << 24);
  std::uint8_t byte = 0;
  while (byte < kVocabulary - 1 && (left -= logits[byte]) >= 0) ++byte;
  return byte;
}

}  // namespace

std::string generate(const Settings& settings, Pipeline& pipeline) {
  std::string text = settings.prompt;
  const auto most = static_cast<std::size_t>(settings.model.sequence);
  for (int i = 0; i < settings.tokens; ++i) {
    const std::size_t begin = text.size() > most ? text.size() - most : 0;
    const observe::Region region(observe::kGenerate);
    const Floats logits = pipeline.next_byte_logits(Bytes(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end()));
    const std::uint64_t random = hash(settings.seed, 0, text.size());
    text.push_back(static_cast<char>(choose(logits, settings.temperature, random)));
  }
  return text.substr(settings.prompt.size());
}

}  // namespace gpt
