#include "generation.h"

#include <algorithm>
#include <utility>

namespace gpt {

namespace {

bool is_shorter(const std::string& one, const std::string& other) {
  return one.size() < other.size();
}

}  // namespace

Generation::Generation(std::vector<std::string> prompts, int bytes, const Sampling& sampling)
    : prompts_(std::move(prompts)), texts_(prompts_), sampling_(sampling) {
  const auto [shortest, longest] = std::minmax_element(prompts_.begin(), prompts_.end(),
                                                       is_shorter);
  length_at_end_ = longest->size() + static_cast<std::size_t>(bytes);
  for (std::string& text : texts_) text.resize(shortest->size());
}

std::vector<Choice> Generation::next(const ModelShape& model, Pipeline& pipeline) {
  const std::size_t length = texts_.front().size();
  const std::size_t looked_at = std::min(length, static_cast<std::size_t>(model.sequence));
  Bytes sequences;
  for (const std::string& text : texts_)
    sequences.insert(sequences.end(), text.end() - static_cast<std::ptrdiff_t>(looked_at),
                     text.end());
  const Floats logits = pipeline.next_byte_logits(sequences, static_cast<int>(texts_.size()));
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    Choice choice{.taken = {}, .ranked = ranked(logits.data() + i * kVocabulary)};
    choice.taken = choose(choice.ranked, sampling_, hash(sampling_.seed, i, length));
    if (length < prompts_[i].size())
      choice.taken = *std::find_if(
          choice.ranked.begin(), choice.ranked.end(), [&](const Candidate& one) {
            return one.byte == static_cast<std::uint8_t>(prompts_[i][length]);
          });
    texts_[i].push_back(static_cast<char>(choice.taken.byte));
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace gpt
