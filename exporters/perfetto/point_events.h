#pragma once

#include "core/record/source.h"
#include "exporters/common/timeline.h"
#include "exporters/perfetto/lanes.h"
#include "exporters/perfetto/names.h"
#include "exporters/perfetto/packet_stream.h"

#include <cstdint>
#include <vector>

namespace megascope::perfetto {

/// What a program told of moments: counters as tracks of the process, one each whatever thread sets
/// it, made when it is first set; marks and tensors as instants of their thread; ranges as slices
/// of tracks "ranges", which overlap as they like.
class PointEvents {
 public:
  /// All must outlive this object.
  PointEvents(const ProcessDefinitions& process, const Names& names, PacketStream& packets)
      : process_(process), names_(names), packets_(packets) {}

  /// event: kPoint, in order of time. thread_uuid: of its location.
  void add(const timeline::Event& event, std::uint64_t thread_uuid);
  /// Ranges for which there was no lane.
  std::uint64_t lost_range_count() const { return lost_range_count_; }
  /// Counters for which there was no track, of which no value is shown.
  std::uint64_t lost_counter_count() const { return lost_counter_count_; }

 private:
  void count(const timeline::Event& event);
  void add_counter_track(CounterId counter, std::uint64_t uuid);
  void mark(const timeline::Event& event, std::uint64_t thread_uuid);
  void show(const timeline::Event& event, std::uint64_t thread_uuid);
  void start_range(const timeline::Event& event);
  void stop_range(const timeline::Event& event);
  void add_range_track(std::uint64_t uuid);

  const ProcessDefinitions& process_;
  const Names& names_;
  PacketStream& packets_;
  std::vector<bool> is_seen_;  ///< by CounterId
  RangeLanes lanes_;
  std::uint64_t lost_range_count_ = 0;
  std::uint64_t lost_counter_count_ = 0;
};

}  // namespace megascope::perfetto
