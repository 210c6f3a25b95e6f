#pragma once

#include "core/record/request_map.h"
#include "core/record/source.h"
#include "core/record/world_ranks.h"
#include "exporters/chrome/collective_arrows.h"
#include "exporters/chrome/deflate_part.h"
#include "exporters/common/call_arguments.h"
#include "exporters/common/json_text.h"
#include "exporters/common/timeline.h"
#include "exporters/common/wait_cursor.h"

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace megascope::chrome {

using timeline::JsonText;

/// Writes one process as events of the Trace Event Format: pid is the world rank, tid is the
/// location + 1 (readers treat 0 as absent). A call is a complete event (X), a nonblocking
/// operation an asynchronous pair (b, e), messages and collectives are flow events (s, t, f). Every
/// event except the first of the file is preceded by a comma.
///
/// Readers bind a flow event to the slice that encloses its time. The end of an arrow is therefore
/// 1 ns before the end of its slice, and calls with zero duration have no arrows.
class ProcessEvents {
 public:
  /// All arguments must outlive this object. is_first: these are the first events of the file.
  /// annotations: may be null.
  ProcessEvents(const RecordSource& source, std::int32_t world_rank, DeflatePart& part,
                bool is_first, const Annotations* annotations = nullptr);

  /// Writes all events. progress: called periodically with the number of calls since the last time;
  /// may be empty.
  void write(const std::function<void(std::uint64_t)>& progress);

  std::uint64_t event_count() const { return event_count_; }
  /// Returns the number of messages and collectives whose arrow has no end, because the call has
  /// zero duration.
  std::uint64_t lost_arrow_count() const { return lost_arrow_count_; }

 private:
  /// A nonblocking operation in flight.
  struct Operation {
    std::uint64_t number = 0;  ///< sequence number within the process
    RegionId region = kNoRegion;
  };

  void write_metadata();
  void add_metadata(std::string_view name, std::int64_t tid, std::string_view arguments);
  void add_call(const timeline::Event& event);
  void add_arguments(const timeline::CallArguments& arguments);
  void add_name(const std::vector<std::string>& names, std::int64_t id);
  void add_wait(const timeline::Event& event);
  void add_findings();
  void add_point(const timeline::Event& event);
  void add_tensor(const Point& point);
  void add_range(const timeline::Event& event);
  void add_real(double number);
  void add_facts(const timeline::Event& event);
  void add_message(const timeline::Event& event, bool is_send, std::uint64_t flow_id);
  void add_collective(const timeline::Event& event, events::Collective collective);
  void start_collective(const timeline::Event& event, events::Collective collective);
  void complete_collective(const timeline::Event& event, events::CollectiveCompletion collective,
                           RegionId region);
  void start_operation(const timeline::Event& event, const Fact& fact, RequestId request);
  /// ending: the event (event_view.h) that ends the operation.
  template <class Ending>
  void complete_operation(const timeline::Event& event, Ending ending);
  void add_flow(char phase, std::string_view kind, std::uint64_t id, LocationId location,
                std::uint64_t time_ns);
  JsonText& begin_event(char phase);
  void add_place(LocationId location, std::uint64_t time_ns);
  void end_event();

  std::string_view region_text(RegionId region) const;
  CollectiveOp operation_of(RegionId region) const;

  const RecordSource& source_;
  const ProcessDefinitions& process_;
  std::int32_t world_rank_;
  WorldRanks world_ranks_;
  CollectiveArrows arrows_;
  DeflatePart& part_;
  bool is_first_;
  const Annotations* annotations_;
  timeline::WaitCursor waits_;
  JsonText text_;
  std::vector<std::string> regions_;  ///< name and category as JSON members, by RegionId
  std::vector<std::string> comms_;    ///< escaped names, by CommId
  std::vector<std::string> windows_;  ///< escaped names, by WinId
  std::vector<std::string> sites_;    ///< escaped names, by number of the call site
  std::vector<std::string> files_;    ///< escaped names, by FileId
  RequestMap<Operation> operations_;
  std::uint64_t operation_count_ = 0;
  std::unordered_set<std::uint64_t> ranges_;  ///< open ranges
  std::uint64_t event_count_ = 0;
  std::uint64_t lost_arrow_count_ = 0;
};

}  // namespace megascope::chrome
