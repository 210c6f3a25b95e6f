#pragma once

#include "analysis/match/match.h"

namespace megascope::analysis {

/// Gives what is matched to two, of known types: what one of them ignores costs nothing. They
/// outlive the object.
template <class First, class Second>
class BothSinks final : public MatchSink {
 public:
  BothSinks(First& first, Second& second) : first_(first), second_(second) {}

  void begin(std::size_t task_count) override {
    first_.begin(task_count);
    second_.begin(task_count);
  }
  void add_call(Track track, const Call& call) override {
    first_.add_call(track, call);
    second_.add_call(track, call);
  }
  void add_wait_point(Track track, const WaitPoint& wait_point) override {
    first_.add_wait_point(track, wait_point);
    second_.add_wait_point(track, wait_point);
  }
  void add_message(std::size_t task, const MessageEnd& send, const MessageEnd& receive) override {
    first_.add_message(task, send, receive);
    second_.add_message(task, send, receive);
  }
  void add_collective(std::size_t task, const Collective& collective) override {
    first_.add_collective(task, collective);
    second_.add_collective(task, collective);
  }
  void end_window() override {
    first_.end_window();
    second_.end_window();
  }

 private:
  First& first_;
  Second& second_;
};

}  // namespace megascope::analysis
