#pragma once

#include "analysis/match/match.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// What one rank's calls of a window have to match, by the task that will match it: messages by the
/// rank that receives them, collectives by communicator.
struct Outbox {
  struct ToTask {
    std::vector<MessageEnd> messages;
    std::vector<CollectiveEnd> collectives;
  };
  std::vector<ToTask> tasks;

  explicit Outbox(std::size_t task_count) : tasks(task_count) {}
  void add(const MessageEnd& end) {
    const std::int32_t receiver = end.is_send ? end.partner : end.world_rank;
    tasks[static_cast<std::size_t>(receiver) % tasks.size()].messages.push_back(end);
  }
  void add(const CollectiveEnd& end) { tasks[end.comm % tasks.size()].collectives.push_back(end); }
  void clear() {
    for (ToTask& task : tasks) {
      task.messages.clear();
      task.collectives.clear();
    }
  }
};

}  // namespace megascope::analysis
