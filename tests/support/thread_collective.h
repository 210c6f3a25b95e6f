#pragma once

#include <algorithm>
#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/lifecycle/collective.h"

namespace megascope::test {

/// What the members of a group of threads share.
struct ThreadGroup {
  explicit ThreadGroup(int member_count)
      : gate(member_count), slots(static_cast<std::size_t>(member_count)), groups(slots.size()) {}

  std::barrier<> gate;
  std::vector<Collective::Bytes> slots;              ///< by member; written before a gate, read after it
  std::vector<std::shared_ptr<ThreadGroup>> groups;  ///< the same, for split
};

/// A Collective whose members are threads of one process: parallel exports tested without MPI. Each operation passes
/// every member's bytes through the group; members may differ in speed, not in the order of their calls.
class ThreadCollective final : public Collective {
 public:
  ThreadCollective(std::shared_ptr<ThreadGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->slots.size()); }

  Status split(int color, int key, std::unique_ptr<Collective>& result) override {
    struct Wish {
      int color, key, rank;
    };
    const Wish mine{color, key, rank_};
    std::vector<Wish> wishes(group_->slots.size());
    Bytes all;
    exchange(std::as_bytes(std::span(&mine, 1)), [&] {
      for (const Bytes& slot : group_->slots) all.insert(all.end(), slot.begin(), slot.end());
    });
    std::memcpy(wishes.data(), all.data(), all.size());
    std::erase_if(wishes, [color](const Wish& wish) { return wish.color != color; });
    std::ranges::sort(wishes, [](const Wish& a, const Wish& b) {
      return std::pair(a.key, a.rank) < std::pair(b.key, b.rank);
    });
    const auto position = std::ranges::find(wishes, rank_, &Wish::rank) - wishes.begin();
    const auto leader = static_cast<std::size_t>(wishes.front().rank);
    if (position == 0) group_->groups[leader] = std::make_shared<ThreadGroup>(static_cast<int>(wishes.size()));
    group_->gate.arrive_and_wait();
    result = std::make_unique<ThreadCollective>(group_->groups[leader], static_cast<int>(position));
    group_->gate.arrive_and_wait();
    return Status::ok();
  }

  Status barrier() override {
    group_->gate.arrive_and_wait();
    return Status::ok();
  }
  Status bcast(std::span<std::byte> data, int root) override {
    exchange(data, [&] {
      const Bytes& from = slot(root);
      if (!data.empty()) std::memcpy(data.data(), from.data(), std::min(data.size(), from.size()));
    });
    return Status::ok();
  }
  Status gather(std::span<const std::byte> mine, Bytes& all, int root) override {
    all.clear();
    exchange(mine, [&] {
      if (rank_ != root) return;
      for (const Bytes& part : group_->slots) all.insert(all.end(), part.begin(), part.end());
    });
    return Status::ok();
  }
  Status gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts, int root) override {
    parts.clear();
    exchange(mine, [&] {
      if (rank_ == root) parts = group_->slots;
    });
    return Status::ok();
  }
  Status scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) override {
    exchange(rank_ == root ? all : std::span<const std::byte>(), [&] {
      const std::size_t offset = static_cast<std::size_t>(rank_) * mine.size();
      if (!mine.empty()) std::memcpy(mine.data(), slot(root).data() + offset, mine.size());
    });
    return Status::ok();
  }
  Status scatterv(const std::vector<Bytes>& parts, Bytes& mine, int root) override {
    group_->gate.arrive_and_wait();
    if (rank_ == root) group_->slots = parts;
    group_->gate.arrive_and_wait();
    mine = slot(rank_);
    group_->gate.arrive_and_wait();
    return Status::ok();
  }
  Status merge_up(Bytes& mine, const Merge& merge) override {
    exchange(Bytes(mine), [&] {
      for (int other = 1; rank_ == 0 && other < size(); ++other) merge(mine, slot(other));
    });
    return Status::ok();
  }
  Status bcast_resized(Bytes& data, int root) override {
    exchange(Bytes(data), [&] { data = slot(root); });
    return Status::ok();
  }

 private:
  const Bytes& slot(int rank) const { return group_->slots[static_cast<std::size_t>(rank)]; }

  /// Publishes `mine`, runs `read` when all have published, and returns when all have read.
  template <class Read>
  void exchange(std::span<const std::byte> mine, const Read& read) {
    group_->slots[static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
    group_->gate.arrive_and_wait();
    read();
    group_->gate.arrive_and_wait();
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
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
