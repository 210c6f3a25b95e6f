#pragma once

#include "plugin/live/protocol/bounds.h"

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace megascope::live {

/// Queue of the application's answers to a client's requests, in order. Answers that may be omitted
/// (a text's tokens, which its end repeats) are kept up to kMaxAnswerBytes; begin and end of each
/// request are always kept. One thread.
class AnswerQueue {
 public:
  /// Appends an answer. False: it may be omitted and there is no space.
  bool put(std::string text, bool may_be_left_out) {
    if (may_be_left_out && bytes_ + text.size() > kMaxAnswerBytes) return false;
    bytes_ += text.size();
    texts_.push_back(std::move(text));
    return true;
  }
  /// Removes the oldest answer. False: the queue is empty.
  bool take(std::string& text) {
    if (texts_.empty()) return false;
    text = std::move(texts_.front());
    texts_.pop_front();
    bytes_ -= text.size();
    return true;
  }
  /// Whether the client does not read its answers. Further requests of it are rejected.
  bool is_full() const { return bytes_ > kMaxAnswerBytes; }
  void clear() { *this = {}; }

 private:
  std::deque<std::string> texts_;
  std::size_t bytes_ = 0;
};

}  // namespace megascope::live
