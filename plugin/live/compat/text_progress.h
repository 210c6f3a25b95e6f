#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace megascope::live {

/// Tracks the length of a text that is being generated, from the application's answers and from
/// views. Pure.
class TextProgress {
 public:
  TextProgress() = default;
  /// prompt: length in tokens of the shortest prompt.
  explicit TextProgress(std::uint64_t prompt) : prompt_(prompt) {}
  /// Adds a generated token. step: the step that computed it; nullopt: the application did not
  /// report the step, so the last step of the text is unknown.
  void add_token(std::optional<std::int64_t> step) {
    ++made_;
    last_step_ = step ? std::optional(std::max(last_step_.value_or(*step), *step)) : std::nullopt;
  }
  /// Returns whether `step` is later than every step that computed a token added so far. Returns
  /// false if there is no token yet, or if the last one was added without its step.
  bool is_ahead(std::int64_t step) const { return last_step_ && step > *last_step_; }
  /// Returns the position in the text of the last token of a view. step: step of the view. tokens:
  /// number of tokens in the view. The position is larger than `tokens` if the application computes
  /// only the end of the text or caches earlier results.
  std::uint64_t reach(std::int64_t step, std::uint64_t tokens) {
    const std::uint64_t grown = tokens > prompt_ ? tokens - prompt_ : 0;
    // Unsigned, because `step` can be any number.
    const auto first = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) - grown);
    first_step_ = std::min(first_step_.value_or(first), first);
    const std::uint64_t since = static_cast<std::uint64_t>(step) -
                                static_cast<std::uint64_t>(*first_step_);
    return std::max(tokens, prompt_ + std::min(since, made_));
  }
  /// Returns the position in the text of the last token that is an input of a step. This is the
  /// token before the last generated one.
  std::uint64_t end() const { return prompt_ + std::max<std::uint64_t>(made_, 1) - 1; }

 private:
  std::uint64_t prompt_ = 0;
  std::uint64_t made_ = 0;  ///< tokens reported by the application
  std::optional<std::int64_t> first_step_;
  std::optional<std::int64_t> last_step_;  ///< last step that computed a token added so far;
                                           ///< nullopt: unknown
};

}  // namespace megascope::live
