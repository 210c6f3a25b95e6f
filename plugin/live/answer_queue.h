#pragma once

#include "plugin/live/bounds.h"

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace megascope::live {

/// What the program answered to a client's requests and the client did not take yet, in order.
/// Answers that others stand for (a text's tokens, which its end has too) are kept up to
/// kMostAnswerBytes; beside them the begin and the end of each request. One thread.
class AnswerQueue {
 public:
  /// False: it may be left out, and there is no room.
  bool put(std::string text, bool may_be_left_out) {
    if (may_be_left_out && bytes_ + text.size() > kMostAnswerBytes) return false;
    bytes_ += text.size();
    texts_.push_back(std::move(text));
    return true;
  }
  bool take(std::string& text) {
    if (texts_.empty()) return false;
    text = std::move(texts_.front());
    texts_.pop_front();
    bytes_ -= text.size();
    return true;
  }
  /// Who asks now does not read.
  bool is_full() const { return bytes_ > kMostAnswerBytes; }
  void clear() { *this = {}; }

 private:
  std::deque<std::string> texts_;
  std::size_t bytes_ = 0;
};

}  // namespace megascope::live
