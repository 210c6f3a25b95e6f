#pragma once

#include "analysis/match/match.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// The ends that one rank's calls created in a window, by the task that will match them. Both ends
/// of a message have the same task (chosen by the receiving rank), and so have all members of a
/// collective (chosen by the communicator).
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
