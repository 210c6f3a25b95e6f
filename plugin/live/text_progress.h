#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace megascope::live {

/// How far a text that is generated has come, as the program's answers and the views of its steps
/// tell. Pure.
class TextProgress {
 public:
  TextProgress() = default;
  /// prompt: tokens of the shortest prompt.
  explicit TextProgress(std::uint64_t prompt) : prompt_(prompt) {}
  void add_token() { ++made_; }
  /// The text's tokens up to the last one of a view, which has `tokens` itself: fewer, where the
  /// program looks at the text's end only or keeps what it computed before.
  std::uint64_t reach(std::int64_t step, std::uint64_t tokens) {
    const std::uint64_t grown = tokens > prompt_ ? tokens - prompt_ : 0;
    const auto first = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) -
                                                 grown);  // any step may come
    first_step_ = std::min(first_step_.value_or(first), first);
    const std::uint64_t since = static_cast<std::uint64_t>(step) -
                                static_cast<std::uint64_t>(*first_step_);
    return std::max(tokens, prompt_ + std::min(since, made_));
  }
  /// The same of the last step: the token that is generated last is not looked at.
  std::uint64_t end() const { return prompt_ + std::max<std::uint64_t>(made_, 1) - 1; }

 private:
  std::uint64_t prompt_ = 0;
  std::uint64_t made_ = 0;  ///< tokens of which the program told
  std::optional<std::int64_t> first_step_;
};

}  // namespace megascope::live
