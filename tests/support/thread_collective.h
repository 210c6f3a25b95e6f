#pragma once

#include "core/lifecycle/tree_collective.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace megascope::test {

/// What the members of a group of threads share: the messages between them.
class ThreadGroup {
 public:
  explicit ThreadGroup(int member_count) : parts(static_cast<std::size_t>(member_count)) {}

  void send(std::span<const std::byte> message, int from, int to) {
    const std::scoped_lock lock(mutex_);
    messages_[{from, to}].emplace_back(message.begin(), message.end());
    arrived_.notify_all();
  }
  Collective::Bytes receive(int from, int to) {
    std::unique_lock lock(mutex_);
    std::deque<Collective::Bytes>& waiting = messages_[{from, to}];
    arrived_.wait(lock, [&] { return !waiting.empty(); });
    Collective::Bytes message = std::move(waiting.front());
    waiting.pop_front();
    return message;
  }

  std::vector<std::shared_ptr<ThreadGroup>>
      parts;  ///< by lowest member; written before a barrier, read after it

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<Collective::Bytes>> messages_;  ///< by (from, to)
};

/// A Collective whose members are threads of one process: parallel exports tested without MPI.
/// Members may differ in speed, not in the order of their calls.
class ThreadCollective final : public TreeCollective {
 public:
  ThreadCollective(std::shared_ptr<ThreadGroup> group, int rank)
      : TreeCollective(rank, static_cast<int>(group->parts.size())), group_(std::move(group)) {}

  Status split(int color, int key, std::unique_ptr<Collective>& result) override {
    struct SplitEntry {
      int color, key, rank;
    };
    const SplitEntry mine{color, key, rank()};
    Bytes all;
    Status status = gather(std::as_bytes(std::span(&mine, 1)), all, 0);
    if (status.is_ok()) status = bcast_resized(all, 0);
    if (!status.is_ok()) return status;
    std::vector<SplitEntry> entries(all.size() / sizeof mine);
    std::memcpy(entries.data(), all.data(), all.size());
    std::erase_if(entries, [color](const SplitEntry& entry) { return entry.color != color; });
    std::ranges::sort(entries, [](const SplitEntry& a, const SplitEntry& b) {
      return std::pair(a.key, a.rank) < std::pair(b.key, b.rank);
    });
    const auto position = std::ranges::find(entries, rank(), &SplitEntry::rank) - entries.begin();
    const auto leader = static_cast<std::size_t>(entries.front().rank);
    if (position == 0)
      group_->parts[leader] = std::make_shared<ThreadGroup>(static_cast<int>(entries.size()));
    status = barrier();
    result = std::make_unique<ThreadCollective>(group_->parts[leader], static_cast<int>(position));
    status.update(barrier());
    return status;
  }

 private:
  Status send(std::span<const std::byte> message, int to) override {
    group_->send(message, rank(), to);
    return Status::ok();
  }
  Status receive(Bytes& message, int from) override {
    message = group_->receive(from, rank());
    return Status::ok();
  }

  std::shared_ptr<ThreadGroup> group_;
};

/// Runs `member` on `member_count` threads, each with its Collective, and waits for all of them.
inline void run_members(int member_count, const std::function<void(Collective&)>& member) {
  const auto group = std::make_shared<ThreadGroup>(member_count);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < member_count; ++rank) {
    threads.emplace_back([&member, group, rank] {
      ThreadCollective collective(group, rank);
      member(collective);
    });
  }
}

}  // namespace megascope::test
