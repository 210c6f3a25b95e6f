#pragma once

#include "plugin/live/protocol/bounds.h"

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace megascope::live {

/// Queue of the application's answers to a client's requests, in order. The answer at the end of a
/// text repeats its tokens. Therefore answers with tokens may be omitted: they are queued only up
/// to kMaxAnswerBytes. The first and the last answer to each request are always queued. One thread.
class AnswerQueue {
 public:
  /// Appends an answer. Returns false, without effect, if the answer may be omitted and there is no
  /// space.
  bool put(std::string text, bool may_be_left_out) {
    if (may_be_left_out && bytes_ + text.size() > kMaxAnswerBytes) return false;
    bytes_ += text.size();
    texts_.push_back(std::move(text));
    return true;
  }
  /// Removes the oldest answer and stores it in `text`. Returns false if the queue is empty.
  bool take(std::string& text) {
    if (texts_.empty()) return false;
    text = std::move(texts_.front());
    texts_.pop_front();
    bytes_ -= text.size();
    return true;
  }
  /// Returns whether the queue is full because the client does not read its answers. The caller
  /// then rejects further requests of the client.
  bool is_full() const { return bytes_ > kMaxAnswerBytes; }
  void clear() { *this = {}; }

 private:
  std::deque<std::string> texts_;
  std::size_t bytes_ = 0;
};

}  // namespace megascope::live
