#pragma once

#include "core/record/source.h"
#include "exporters/common/timeline.h"
#include "exporters/perfetto/lanes.h"
#include "exporters/perfetto/names.h"
#include "exporters/perfetto/packet_stream.h"

#include <cstdint>
#include <vector>

namespace megascope::perfetto {

/// Writes the points that the application recorded. Counters are tracks of the process, created at
/// the first value; marks and tensors are instants of their thread; ranges are slices of tracks
/// "ranges", because they may overlap.
class PointEvents {
 public:
  /// All arguments must outlive this object.
  PointEvents(const ProcessDefinitions& process, Names& names, PacketStream& packets)
      : process_(process), names_(names), packets_(packets) {}

  /// Writes a point. event: of kind kPoint; events must be added in time order. thread_uuid: track
  /// of its location.
  void add(const timeline::Event& event, std::uint64_t thread_uuid);
  /// Returns the number of ranges for which no lane was free. They are not shown.
  std::uint64_t lost_range_count() const { return lost_range_count_; }
  /// Returns the number of counters beyond the limit of tracks. Their values are not shown.
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
  Names& names_;
  PacketStream& packets_;
  std::vector<bool> is_seen_;  ///< by CounterId
  RangeLanes lanes_;
  std::uint64_t lost_range_count_ = 0;
  std::uint64_t lost_counter_count_ = 0;
};

}  // namespace megascope::perfetto
