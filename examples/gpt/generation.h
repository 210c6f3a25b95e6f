/// \file
/// Texts that grow byte by byte, together: the shortest prompt goes on first, the others follow as
/// it reaches their ends.
#pragma once

#include "pipeline.h"
#include "sampling.h"

#include <string>
#include <vector>

namespace gpt {

/// What a text got.
struct Choice {
  Candidate taken;  // a byte of its prompt, if that is longer
  std::vector<Candidate> ranked;
};

class Generation {
 public:
  /// prompts: at least one, none empty. bytes: to add to the longest.
  Generation(std::vector<std::string> prompts, int bytes, const Sampling& sampling);
  bool is_done() const { return texts_.front().size() == length_at_end_; }
  /// A byte for each text, of which only the last model.sequence are looked at. On all ranks
  /// together, with the same result.
  std::vector<Choice> next(const ModelShape& model, Pipeline& pipeline);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> prompts_;
  std::vector<std::string> texts_;  // of the same length
  std::size_t length_at_end_;
  Sampling sampling_;
};

}  // namespace gpt
