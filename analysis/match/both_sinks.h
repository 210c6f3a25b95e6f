#pragma once

#include "analysis/match/match.h"

namespace megascope::analysis {

/// Forwards every call to two sinks. The sink types are template arguments, so that calls which a
/// sink ignores are inlined to nothing. Both sinks must outlive the object.
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
