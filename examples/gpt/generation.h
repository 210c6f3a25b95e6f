/// \file
/// Batched text generation: all texts have the same length, starting with that of the shortest
/// prompt. A longer prompt provides the bytes until its end.
#pragma once

#include "pipeline.h"
#include "sampling.h"

#include <string>
#include <vector>

namespace gpt {

/// The choice of one byte of one text.
struct Choice {
  Candidate taken;  // taken from the prompt, if that is longer
  std::vector<Candidate> ranked;
};

class Generation {
 public:
  /// prompts: at least one, none empty. bytes: number of bytes to add to the longest prompt.
  Generation(std::vector<std::string> prompts, int bytes, const Sampling& sampling);
  bool is_done() const { return texts_.front().size() == length_at_end_; }
  /// Generates one byte for each text, from the last model.sequence bytes. Collective; the same
  /// result on all ranks.
  std::vector<Choice> next(const ModelShape& model, Pipeline& pipeline);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> prompts_;
  std::vector<std::string> texts_;  // of the same length
  std::size_t length_at_end_;
  Sampling sampling_;
};

}  // namespace gpt
