#pragma once

#include "analysis/match/match.h"

namespace megascope::analysis {

/// Ignores all matches: for callers that use only the Matching that match_run() returns.
class NoSink final : public MatchSink {
 public:
  void begin(std::size_t) override {}
  void add_wait_point(Track, const WaitPoint&) override {}
  void add_message(std::size_t, const MessageEnd&, const MessageEnd&) override {}
  void add_collective(std::size_t, const Collective&) override {}
  void end_window() override {}
};

}  // namespace megascope::analysis
