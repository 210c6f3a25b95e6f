#pragma once

#include "core/record/flow_ids.h"
#include "core/record/source.h"
#include "core/record/world_ranks.h"
#include "exporters/common/call_arguments.h"
#include "exporters/common/timeline.h"
#include "exporters/perfetto/lanes.h"
#include "exporters/perfetto/names.h"
#include "exporters/perfetto/packet_stream.h"
#include "exporters/perfetto/point_events.h"
#include "exporters/perfetto/track_numbers.h"
#include "exporters/perfetto/wait_slices.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace megascope::perfetto {

/// Writes one process as one packet sequence: a process track named after the rank, a track for
/// each thread with a slice for each call, and tracks "requests" with a slice for each nonblocking
/// operation, from the call that starts it to the one that completes it.
///
/// There are two kinds of flows. The flow of a message leads from the slice of the sending call to
/// the slice of the call in which the receive completes. The flow of a collective leads through the
/// calls with which the members enter the collective, in order of entry.
class ProcessTrace {
 public:
  /// All arguments must outlive this object. annotations: findings and wait states that the
  /// analysis determined, to be shown in addition; nullptr: only recorded data is shown.
  ProcessTrace(const RecordSource& source, std::int32_t world_rank, timeline::JointFile& file,
               const Annotations* annotations = nullptr);

  /// Writes all packets. progress: called periodically with the number of calls since the last
  /// time; may be empty.
  void write(const std::function<void(std::uint64_t)>& progress);

  std::uint64_t slice_count() const { return slice_count_ + waits_.slice_count(); }
  /// Returns the number of nonblocking operations for which no lane was free.
  std::uint64_t lost_operation_count() const { return lost_operation_count_; }
  std::uint64_t lost_range_count() const { return points_.lost_range_count(); }
  std::uint64_t lost_counter_count() const { return points_.lost_counter_count(); }

 private:
  /// A nonblocking operation whose slice ends when the call that completes it is left.
  struct Ending {
    Fact fact;
    RequestId request = kNoRequest;
    bool has_arguments = false;
  };
  /// Data of the open calls of one location that are needed when the calls are left. `flows` has
  /// the flow ids of the messages that a call receives. `endings` has the nonblocking operations
  /// that a call completes. Both contain the entries of all open calls. `marks` has, for each open
  /// call, the indices at which its entries begin.
  struct OpenCalls {
    struct Marks {
      std::size_t flow, ending;
    };
    std::vector<Marks> marks;
    std::vector<std::uint64_t> flows;
    std::vector<Ending> endings;
  };

  void write_preamble();
  void write_process_track();
  void write_thread_track(const LocationDefinition& location);
  void write_lane_track(std::uint32_t lane);

  void enter(const timeline::Event& event);
  void leave(const timeline::Event& event);
  void begin_slice(RegionId region);
  void add_track(LocationId location);
  void add_arguments(const timeline::CallArguments& arguments);
  void add_flows(std::span<const std::uint64_t> ids);
  void start_operation(const timeline::Event& event, const Fact& fact, RequestId request);
  void collect_flows(const timeline::Event& event, OpenCalls& open);
  void start_operations(const timeline::Event& event);

  std::uint64_t track_uuid(std::uint32_t index) const {
    return tracks::of_process(world_rank_, index);
  }
  std::uint64_t thread_uuid(LocationId location) const;
  std::uint64_t lane_uuid(std::uint32_t lane) const;

  const RecordSource& source_;
  const ProcessDefinitions& process_;
  std::int32_t world_rank_;
  LocationId main_location_ = 0;
  WorldRanks world_ranks_;
  PacketStream packets_;
  Names names_;
  FieldBuffer event_;
  FieldBuffer annotation_;
  OperationLanes lanes_;
  WaitSlices waits_;
  PointEvents points_;
  std::vector<OpenCalls> open_;  ///< by location
  FlowIds flow_ids_;
  std::vector<bool> has_others_;         ///< by CommId: it has several members
  std::vector<std::uint64_t> starting_;  ///< flows of the call that is entered
  std::uint64_t slice_count_ = 0;
  std::uint64_t lost_operation_count_ = 0;
};

}  // namespace megascope::perfetto
