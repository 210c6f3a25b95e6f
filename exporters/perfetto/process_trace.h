#pragma once

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
#include <vector>

namespace megascope::perfetto {

/// Writes one process of a run as one packet sequence: a process track named after the rank, a
/// track a thread with a slice a call, and beside them tracks "requests" with a slice a nonblocking
/// operation, from the call that starts it to the one that completes it.
///
/// Flows: from the slice of the call that sends to the one of the call in which the receive
/// completed; and through the calls by which the members of a collective enter it, in the order of
/// entering (a chain: as many arrows as members).
class ProcessTrace {
 public:
  /// All must outlive this object. annotations: null: nothing but what was recorded is shown.
  ProcessTrace(const RecordSource& source, std::int32_t world_rank, timeline::JointFile& file,
               const Annotations* annotations = nullptr);

  /// progress: called now and then with the number of calls since the last time; may be empty.
  void write(const std::function<void(std::uint64_t)>& progress);

  std::uint64_t slice_count() const { return slice_count_ + waits_.slice_count(); }
  /// Nonblocking operations for which there was no lane.
  std::uint64_t lost_operation_count() const { return lost_operation_count_; }
  std::uint64_t lost_range_count() const { return points_.lost_range_count(); }
  std::uint64_t lost_counter_count() const { return points_.lost_counter_count(); }

 private:
  /// What the calls open on one location will need when they are left; each call's part begins at
  /// its marks.
  struct OpenCalls {
    struct Marks {
      std::size_t flow, completion;
    };
    std::vector<Marks> marks;
    std::vector<std::uint64_t> flows;
    std::vector<Fact> completions;  ///< of operations
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
  void add_collective_flow(const Fact& fact);
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
  Names names_;
  PacketStream packets_;
  FieldBuffer event_;
  FieldBuffer annotation_;
  OperationLanes lanes_;
  WaitSlices waits_;
  PointEvents points_;
  std::vector<OpenCalls> open_;  ///< by location
  std::vector<std::uint64_t>
      comm_seeds_;  ///< global name of each communicator with more than one member, else 0
  std::uint64_t slice_count_ = 0;
  std::uint64_t lost_operation_count_ = 0;
};

}  // namespace megascope::perfetto
