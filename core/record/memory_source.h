#pragma once

#include "core/record/source.h"

#include <algorithm>
#include <map>
#include <utility>

namespace megascope {

/// A run in memory, for tests, importers and trace generators.
class MemorySource final : public RecordSource {
 public:
  struct OwnedCall {
    Call call;  ///< facts and posted are ignored
    std::vector<Fact> facts;
    std::vector<Fact> posted;
  };
  struct Process {
    ProcessDefinitions definitions;
    std::vector<std::vector<OwnedCall>> locations;  ///< calls in order of entry, by LocationId
    std::vector<std::vector<Point>> points =
        {};  ///< in order of time, by LocationId; may be shorter than `locations`
  };

  explicit MemorySource(std::int32_t world_size) : world_size_(world_size) {}

  void add(Process process) {
    const std::int32_t rank = process.definitions.info.world_rank;
    for (const auto& calls : process.locations) {
      for (const OwnedCall& owned : calls) end_ns_ = std::max(end_ns_, owned.call.leave_ns);
    }
    processes_[rank] = std::move(process);
    ranks_.clear();
    for (const auto& [world_rank, unused] : processes_) ranks_.push_back(world_rank);
  }

  std::int32_t world_size() const override { return world_size_; }
  const std::vector<std::int32_t>& world_ranks() const override { return ranks_; }
  const ProcessDefinitions& process(std::int32_t rank) const override {
    return processes_.at(rank).definitions;
  }
  std::unique_ptr<CallStream> calls(std::int32_t rank, LocationId location) const override {
    return std::make_unique<Stream>(processes_.at(rank).locations.at(location));
  }
  std::unique_ptr<PointStream> points(std::int32_t rank, LocationId location) const override {
    const auto& all = processes_.at(rank).points;
    return location < all.size() ? std::make_unique<Points>(all[location]) : nullptr;
  }
  std::int64_t start_realtime_ns() const override { return start_realtime_ns_; }
  std::uint64_t end_ns() const override { return end_ns_; }
  void set_start_realtime_ns(std::int64_t time_ns) { start_realtime_ns_ = time_ns; }

 private:
  class Stream final : public CallStream {
   public:
    explicit Stream(const std::vector<OwnedCall>& calls) : calls_(calls) {}
    bool next(Call& call) override {
      if (index_ == calls_.size()) return false;
      const OwnedCall& owned = calls_[index_++];
      call = owned.call;
      call.facts = owned.facts;
      call.posted = owned.posted;
      return true;
    }

   private:
    const std::vector<OwnedCall>& calls_;
    std::size_t index_ = 0;
  };

  class Points final : public PointStream {
   public:
    explicit Points(const std::vector<Point>& points) : points_(points) {}
    bool next(Point& point) override {
      if (index_ == points_.size()) return false;
      point = points_[index_++];
      return true;
    }

   private:
    const std::vector<Point>& points_;
    std::size_t index_ = 0;
  };

  std::int32_t world_size_;
  std::map<std::int32_t, Process> processes_;
  std::vector<std::int32_t> ranks_;
  std::int64_t start_realtime_ns_ = 0;
  std::uint64_t end_ns_ = 0;
};

}  // namespace megascope
