#pragma once

#include "core/base/clock.h"
#include "core/record/source.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace megascope::answer {

/// Thrown by the streams of a BoundedSource after its deadline.
struct TimeIsUp : std::exception {};

/// A run whose streams throw TimeIsUp after a deadline. whole: outlives the object.
class BoundedSource final : public RecordSource {
 public:
  /// until_ns: deadline in the time of clock::monotonic_ns()
  BoundedSource(const RecordSource& whole, std::uint64_t until_ns)
      : whole_(whole), until_ns_(until_ns) {}

  std::int32_t world_size() const override { return whole_.world_size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return whole_.world_ranks(); }
  const ProcessDefinitions& process(std::int32_t world_rank) const override {
    return whole_.process(world_rank);
  }
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override {
    return std::make_unique<Stream>(whole_.calls(world_rank, location), until_ns_);
  }
  std::unique_ptr<PointStream> points(std::int32_t world_rank, LocationId location) const override {
    return whole_.points(world_rank, location);
  }
  std::int64_t start_realtime_ns() const override { return whole_.start_realtime_ns(); }
  std::uint64_t end_ns() const override { return whole_.end_ns(); }

 private:
  class Stream final : public CallStream {
   public:
    Stream(std::unique_ptr<CallStream> whole, std::uint64_t until_ns)
        : whole_(std::move(whole)), until_ns_(until_ns) {}
    bool next(Call& call) override {
      constexpr std::uint32_t kCallsBetweenLooks = 1024;
      if (count_++ % kCallsBetweenLooks == 0 && clock::monotonic_ns() > until_ns_) throw TimeIsUp();
      return whole_->next(call);
    }

   private:
    std::unique_ptr<CallStream> whole_;
    std::uint64_t until_ns_;
    std::uint32_t count_ = 0;
  };

  const RecordSource& whole_;
  std::uint64_t until_ns_;
};

}  // namespace megascope::answer
